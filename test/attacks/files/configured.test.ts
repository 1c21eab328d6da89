import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CommandLine } from "../../fakes/command-line.ts";
import { ConfigFolder, problemsOf } from "../../fakes/config-folder.ts";

it("no file tool is offered without a `files` section or without `enabled`", async () => {
  using folder = new ConfigFolder();
  expect((await folder.load("version: 1\n")).files).toBeUndefined();
  expect((await folder.load("files:\n  write: true\n")).files).toBeUndefined();
  expect((await folder.load("files:\n  enabled: true\n  roots:\n    docs: { path: ./docs }\n")).files).toEqual({
    roots: { docs: { path: join(folder.path, "docs") } },
  });
});

it("a mistake in the section is named with its place", async () => {
  using folder = new ConfigFolder();
  expect(await problemsOf(folder.load("files:\n  enabled: true\n  wirte: true\n"))).toEqual([
    expect.stringContaining("FILE:3:3 files.wirte"),
  ]);
  expect(await problemsOf(folder.load("files:\n  roots:\n    logs: { path: . }\n"))).toEqual([
    expect.stringContaining("files.roots.logs"),
  ]);
  expect(await problemsOf(folder.load("files:\n  max_file_bytes: 0\n"))).toEqual([
    expect.stringContaining("files.max_file_bytes"),
  ]);
});

it("the real command offers the configured roots, protects its own data, and archives each act", async () => {
  using cli = new CommandLine();
  const write = (files: string): void =>
    writeFileSync(join(cli.folder, "postern.yaml"), `listen: { port: 0 }\n${files}`);
  mkdirSync(join(cli.folder, "docs"));
  writeFileSync(join(cli.folder, "docs/a.md"), "from the docs\n");
  write("autonomy: A3\nfiles:\n  enabled: true\n  write: true\n  roots:\n    docs: { path: docs }\n");
  const wrote = await cli.asProcess("call", "write_file", "path=notes/a.txt", "content=hello", "--json");
  expect(wrote.code, wrote.err).toBe(0);
  expect(await cli.run("call", "read_file", "path=workspace/notes/a.txt")).toMatchObject({ code: 0, out: "hello\n" });
  expect(await cli.run("call", "read_file", "path=docs/a.md")).toMatchObject({
    code: 0,
    out: expect.stringContaining("from the docs"),
  });
  const refused = await cli.run("call", "read_file", "path=../events.jsonl");
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("without going up") });
  const runs: readonly { readonly run_id: string }[] = JSON.parse((await cli.run("runs", "list", "--json")).out).runs;
  const events = runs
    .map(({ run_id: id }) => readFileSync(join(cli.folder, ".postern/runs", id, "events.jsonl"), "utf8"))
    .join("");
  expect(events).toContain('"file.written"');
  expect(events).toContain('"file.read"');
  expect(events).toContain('"file.rejected"');

  write("files:\n  enabled: true\n  roots:\n    here: { path: . }\n");
  expect(await cli.run("tools", "list")).toMatchObject({ code: 1, err: expect.stringContaining("Postern's own data") });
  write("results:\n  folder: docs\nfiles:\n  enabled: true\n  roots:\n    docs: { path: docs }\n");
  expect(await cli.run("tools", "list")).toMatchObject({ code: 1, err: expect.stringContaining("Postern's own data") });
  write("data: ../elsewhere\nfiles:\n  enabled: true\n  roots:\n    here: { path: ., writable: true }\n");
  expect(await cli.run("tools", "list", "--data", join(cli.folder, "docs"))).toMatchObject({ code: 1 });
}, 60_000);
