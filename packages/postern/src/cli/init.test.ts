import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const index = pathToFileURL(join(import.meta.dirname, "../index.ts")).href;

/** As after `npm install postern` there. */
function installed(name: string): string {
  const folder = join(cli.folder, name);
  const postern = join(folder, "node_modules/postern");
  mkdirSync(postern, { recursive: true });
  writeFileSync(join(postern, "package.json"), JSON.stringify({ name: "postern", type: "module", exports: "./at.js" }));
  writeFileSync(join(postern, "at.js"), `export * from ${JSON.stringify(index)};`);
  return folder;
}

it("what `init` writes starts as it stands: one tool runs, the other waits for a person", async () => {
  const folder = installed("fresh");
  const { code, out } = await cli.runIn(folder, "init");
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^Wrote .*\nNext: .*start\n$/) });
  expect(readdirSync(folder).sort()).toEqual([".gitignore", "node_modules", "postern.yaml", "tools.mts"]);
  mkdirSync(join(folder, ".postern"), { mode: 0o700 });
  expect(await cli.runIn(folder, "call", "clock")).toMatchObject({ code: 0, out: expect.stringMatching(/^20.*Z\n$/) });
  expect(await cli.runIn(folder, "call", "note", "text=hello")).toMatchObject({ code: 4 });
  expect((await cli.runIn(folder, "approvals")).out).toContain(`{"text":"hello"}`);
  expect(readdirSync(folder)).not.toContain("notes.md");
});

it("a folder that is not there is made, and the next command leads into it", async () => {
  const { code, out } = await cli.runIn(cli.folder, "init", "a/b");
  expect(code).toBe(0);
  expect(out).toContain(`cd ${join(cli.folder, "a/b")} && `);
  const { out: output } = await cli.runIn(cli.folder, "init", "c", "--json");
  expect(JSON.parse(output)).toEqual({
    folder: join(cli.folder, "c"),
    files: ["tools.mts", ".gitignore", "postern.yaml"],
  });
});

it.each(["postern.yaml", "postern.yml", "postern.json", "tools.mts"])("overwrites nothing: %s", async (name) => {
  const folder = installed(`has-${name}`);
  writeFileSync(join(folder, name), "mine");
  expect(await cli.runIn(folder, "init")).toMatchObject({ code: 1, err: expect.stringContaining("there already") });
  expect(readdirSync(folder).sort()).toEqual(["node_modules", name].sort());
  expect(readFileSync(join(folder, name), "utf8")).toBe("mine");
});

it("a file that cannot be made leaves none of the others behind, and what was there is as it was", async () => {
  const folder = installed("half");
  symlinkSync(join(folder, "nowhere/at/all"), join(folder, "postern.yaml")); // in the way, and yet not there
  const before = readdirSync(folder).sort();
  expect(await cli.runIn(folder, "init")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/postern\.yaml` cannot be made.*Nothing was written\./s),
  });
  expect(readdirSync(folder).sort()).toEqual(before);
});

it("goes on where it was killed: tools that it wrote itself are no stranger's", async () => {
  const folder = installed("killed");
  await cli.runIn(folder, "init");
  const tools = readFileSync(join(folder, "tools.mts"), "utf8");
  for (const name of ["postern.yaml", ".gitignore"]) rmSync(join(folder, name));
  expect(JSON.parse((await cli.runIn(folder, "init", "--json")).out)).toMatchObject({
    files: [".gitignore", "postern.yaml"],
  });
  expect(readFileSync(join(folder, "tools.mts"), "utf8")).toBe(tools);
  expect(await cli.runIn(folder, "init")).toMatchObject({ code: 1, err: expect.stringContaining("there already") });
});

it("a `.gitignore` that is there is left alone, and what it lacks is printed", async () => {
  for (const [text, isAdvised] of [
    ["dist/\n", true],
    ["dist/\n.postern\n", false],
  ] as const) {
    const folder = installed(`ignores-${isAdvised}`);
    writeFileSync(join(folder, ".gitignore"), text);
    expect((await cli.runIn(folder, "init")).out.includes("Add `.postern/`")).toBe(isAdvised);
    expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe(text);
  }
});

it("a folder without configuration gets a hint to `init`", async () => {
  const folder = join(cli.folder, "empty");
  mkdirSync(folder);
  expect((await cli.runIn(folder, "start")).err).toContain("init` writes a first one here");
});
