/** A machine without an engine for Python: scripts in JavaScript work, and the command line says what to install. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ownFolder } from "../fakes/own-folder.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const bin = join(root, "packages/postern/bin/postern.js");
/** Runs in its own mount namespace, in which bubblewrap cannot be executed and Pyodide's folder is empty. */
const hiding = `for file in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do
  if [ -e "$file" ]; then mount --bind /dev/null "$file"; fi
done
if [ -d "$1" ]; then mount -t tmpfs none "$1"; fi
shift
exec "$@"`;
const hidden = ["--mount", "sh", "-c", hiding, "sh", join(root, "node_modules/pyodide"), process.execPath];
const problem =
  process.getuid?.() === 0
    ? await run("unshare", [...hidden, "--version"]).then(
        () => undefined,
        (error: Error) => error.message,
      )
    : "only root can hide programs from a process";
if (problem !== undefined) console.warn(`SKIPPED: a machine without an engine for Python: ${problem}`);
const howTo = /apt install bubblewrap python3.*npm install pyodide deno/;

function configured(): string {
  const folder = ownFolder();
  writeFileSync(join(folder, "postern.yaml"), "chains: { enabled: true }\nlisten: { port: 0 }\n");
  return folder;
}

it.skipIf(problem !== undefined)("start says how to get an engine for Python", async () => {
  const started = spawn("unshare", [...hidden, bin, "start"], {
    cwd: configured(),
    stdio: ["ignore", "pipe", "ignore"],
  });
  const messages: string[] = [];
  for await (const line of createInterface({ input: started.stdout })) {
    messages.push(line);
    if (/Try next/.test(line)) break;
  }
  started.kill();
  await once(started, "close");
  expect(messages.join("\n")).toMatch(howTo);
});

it.skipIf(problem !== undefined)("doctor warns that scripts in Python cannot run, and how they can", async () => {
  const { stdout } = await run("unshare", [...hidden, bin, "doctor", "--json", "--port", "0"], { cwd: configured() });
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Record<string, string>[] };
  const engines = findings.find(({ check }) => check === "engines");
  expect(engines).toMatchObject({
    level: "warn",
    message: expect.stringContaining("quickjs"),
    fix: expect.stringMatching(howTo),
  });
});

it.skipIf(problem !== undefined)("tool_chain is offered for JavaScript and TypeScript only", async () => {
  const asked = `const { createRuntime } = await import(${JSON.stringify(join(root, "packages/postern/src/index.ts"))});
const runtime = await createRuntime({ chains: {} });
const chain = runtime.offered().find(({ tool }) => tool === "tool_chain");
const { status } = await runtime.runChain({ code: "return 1 + 1" });
console.log(JSON.stringify({ chain, status }));
process.exit(0);`;
  const { stdout } = await run("unshare", [...hidden, "--input-type=module", "--eval", asked]);
  const { chain, status } = JSON.parse(stdout);
  expect(status).toBe("ok");
  expect(chain.inputSchema.properties.language.enum).toEqual(["javascript", "typescript"]);
  expect(chain.description).not.toContain("Python");
});
