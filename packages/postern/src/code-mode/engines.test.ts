import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";
import { fakeDriver } from "../../../../test/fakes/fake-sandbox.ts";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";

const root = join(import.meta.dirname, "../../../..");

async function warningsOf(
  chains: NonNullable<Parameters<typeof runtimeFixture>[0]>["chains"] & object,
): Promise<string> {
  const warnings: string[] = [];
  await using _h = await runtimeFixture({ chains, log: (warning) => void warnings.push(warning) });
  return warnings.join("\n");
}

it("says in a bundle why no script can run", async () => {
  const folder = ownFolder();
  const entry = join(folder, "entry.ts");
  const source = `import { createRuntime } from ${JSON.stringify(join(root, "packages/postern/src/index.ts"))};
    const warnings = [];
    await using runtime = await createRuntime({ chains: {}, log: (warning) => warnings.push(warning) });
    const { refusal } = await runtime.runChain({ code: "1" });
    console.log(warnings.join(), refusal.code + ": " + refusal.message);`;
  writeFileSync(entry, source);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  await using bundle = await rolldown({
    ...{ input: entry, platform: "node", external: [/^(?!@postern\/)[a-z@]/] },
    resolve: { conditionNames: ["postern-source", "node", "import"] },
  });
  await bundle.write({ file: join(folder, "bundle.mjs"), format: "esm", codeSplitting: false });
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "bundle.mjs")]);
  expect(stdout).toMatch(/`tool_chain` is not offered. No engine here runs javascript \(`quickjs`: ENOENT/);
  expect(stdout).toContain("a bundle must leave `postern` outside");
  expect(stdout).toMatch(/tool_unavailable: No engine here runs javascript \(`quickjs`: ENOENT/);
}, 60_000);

it("says that an engine of the program cannot run", async () => {
  const broken = fakeDriver({ name: "mine", unavailable: "its binding is missing" });
  expect(await warningsOf({ drivers: [broken] })).toContain(
    "The engine `mine` cannot run here: its binding is missing.",
  );
});

it("says that an engine is given and not named", async () => {
  const chains = { drivers: [fakeDriver(), fakeDriver({ name: "mine" })], engines: ["fake"] };
  expect(await warningsOf(chains)).toContain("`mine` runs no script: name it in `chains.engines`");
  const engineSettings = { firecracker: {} } as never; // not read, because nothing names it
  expect(await warningsOf({ drivers: [fakeDriver()], engines: ["fake"], engineSettings })).toContain(
    "`chains.engineSettings.firecracker` is given",
  );
});

it("says nothing when all that was asked for can run", async () => {
  expect(await warningsOf({ drivers: [fakeDriver()], engines: ["fake"] })).toBe("");
});
