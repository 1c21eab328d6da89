import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CommandLine } from "../../fakes/command-line.ts";
import { ConfigFolder, problemsOf } from "../../fakes/config-folder.ts";

const here = existsSync("/usr/bin/bwrap");
if (!here) console.warn("SKIPPED: the configured shell: this machine lacks `bwrap`");

it("each tool is offered only if its own key is set", async () => {
  using folder = new ConfigFolder();
  const none = { applyPatch: undefined, textEditor: false, memory: false, shell: undefined };
  expect((await folder.load("version: 1\n")).provided).toMatchObject(none);
  expect((await folder.load("tools:\n  shell: { network: true }\n")).provided).toMatchObject(none);
  const all =
    "tools:\n  apply_patch: { enabled: true }\n  text_editor: { enabled: true }\n  memory: { enabled: true }\n  shell: { enabled: true, readable: [opt], processes: 9 }\n";
  expect((await folder.load(all)).provided).toMatchObject({
    ...{ applyPatch: {}, textEditor: true, memory: true },
    shell: { readable: [join(folder.path, "opt")], processes: 9 },
  });
});

it.each([
  ["tools:\n  shell: { enabled: true, netwrok: true }\n", "tools.shell.netwrok"],
  ["tools:\n  shell: { enabled: true, timeout_ms: 0 }\n", "tools.shell.timeout_ms"],
  ["tools:\n  apply_patch: true\n", "tools.apply_patch"],
])("a mistake is named with its place: %j", async (text, place) => {
  using folder = new ConfigFolder();
  expect(await problemsOf(folder.load(text))).toEqual([expect.stringContaining(place)]);
});

it.skipIf(!here)(
  "the real command offers them in the configured roots",
  async () => {
    using cli = new CommandLine();
    mkdirSync(join(cli.folder, "src"));
    writeFileSync(join(cli.folder, "src/a.txt"), "one\n");
    const config = [
      "listen: { port: 0 }",
      "autonomy: A3",
      "files: { roots: { src: { path: src, writable: true } } }",
      "policy: { rules: [{ effect: allow, tool: shell }] }",
      "tools:",
      "  apply_patch: { enabled: true }",
      "  text_editor: { enabled: true }",
      "  memory: { enabled: true }",
      "  shell: { enabled: true, root: src }",
    ];
    writeFileSync(join(cli.folder, "postern.yaml"), `${config.join("\n")}\n`);
    const wrote = await cli.asProcess("call", "memory", "command=create", "path=/memories/a", "file_text=x", "--json");
    expect(wrote.code, wrote.err).toBe(0);
    expect(readFileSync(join(cli.folder, ".postern/memories/default/local-agent/a"), "utf8")).toBe("x");
    const listed = await cli.run("tools", "list");
    for (const name of ["apply_patch", "str_replace_based_edit_tool", "memory", "shell"])
      expect(listed.out).toMatch(new RegExp(`^${name} .*$`, "m"));
    expect(listed.out).not.toContain("read_file");
    expect(listed.out).toMatch(/^shell +critical/m);
    const shown = await cli.run("call", "str_replace_based_edit_tool", "command=view", "path=src/a.txt");
    expect(shown).toMatchObject({ code: 0, out: "     1\tone\n" });
  },
  60_000,
);

/** Runs a process in which bubblewrap does not work. */
const broken = ["--mount", "sh", "-c", 'mount --bind /dev/null /usr/bin/bwrap && exec "$@"', "sh"];
const canBreak = here && spawnSync("unshare", [...broken, "true"], { timeout: 15_000 }).status === 0;
if (!canBreak) console.warn("SKIPPED: a shell without a sandbox: needs `unshare` with the right to mount");

it.skipIf(!canBreak)(
  "a shell without a sandbox is named, and the others are offered",
  async () => {
    using cli = new CommandLine();
    const config = "listen: { port: 0 }\ntools:\n  memory: { enabled: true }\n  shell: { enabled: true }\n";
    writeFileSync(join(cli.folder, "postern.yaml"), config);
    const main = join(import.meta.dirname, "../../../packages/postern/src/cli/main.ts");
    const words = [...broken, process.execPath, "--disable-warning=ExperimentalWarning", main, "tools", "list"];
    const { stdout, stderr } = await promisify(execFile)("unshare", words, { cwd: cli.folder });
    expect(stdout).toMatch(/^memory /m);
    expect(stdout).not.toMatch(/^shell +critical/m);
    expect(stdout).toContain("`shell` cannot be offered: bubblewrap cannot isolate here");
    expect(stderr).toContain("`shell` cannot be offered");
  },
  60_000,
);
