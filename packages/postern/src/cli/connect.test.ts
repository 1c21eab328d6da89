import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { readClientFile, replaceClientFile } from "./clients/client-file.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
let folders = 0;

/** A project with a configuration, and with the file of a client if it has a text. */
function project(file: string, text?: string): { readonly folder: string; readonly path: string } {
  folders += 1;
  const folder = join(cli.folder, `project ${folders}`);
  const path = join(folder, file);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(join(folder, "postern.yaml"), "version: 1\n");
  if (text !== undefined) writeFileSync(path, text);
  return { folder, path };
}

function replaceByLink(path: string): void {
  writeFileSync(`${path}.other`, "{}");
  rmSync(path);
  symlinkSync(`${path}.other`, path);
}

const vscodeFile = `{
    // of the team
    "inputs": [{ "id": "k", "type": "promptString" /* asked once */ }],
    "servers": {
        "a": { "command": "run-s3cr3t", "env": { "KEY": "s3cr3t" } }, // s3cr3t
    },
}
`;
const codexFile = `# mine
model = "s3cr3t"

[mcp_servers.a]
command = "a" # first
args = [
  "x", "s3cr3t",
]`;

const cases: readonly (readonly [client: string, file: string, text: string, own: string])[] = [
  [
    "claude",
    ".mcp.json",
    '{"mcpServers":{"a":{"command":"s3cr3t"}}}',
    `"Authorization": "Bearer \${POSTERN_AGENT_TOKEN}"`,
  ],
  ["claude-desktop", "claude_desktop_config.json", '{\n\t"mcpServers": {}\n}\n', '"--stdio"'],
  [
    "cursor",
    ".cursor/mcp.json",
    '\ufeff{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
    `"Bearer \${env:POSTERN_AGENT_TOKEN}"`,
  ],
  ["vscode", ".vscode/mcp.json", vscodeFile, `"Bearer \${input:postern-token}"`],
  ["codex", "config.toml", codexFile, 'bearer_token_env_var = "POSTERN_AGENT_TOKEN"'],
];

describe("postern connect and disconnect", () => {
  it.each(cases)(
    "%s: adds one server, shows no other value, and is undone byte for byte",
    async (client, file, text, own) => {
      const { folder, path } = project(file, text);
      chmodSync(path, 0o640);
      const connected = await cli.runIn(folder, "connect", client, "--file", file, "--yes");
      expect(connected).toMatchObject({ code: 0, err: "" });
      const written = readFileSync(path, "utf8");
      expect(written).toContain(own);
      expect(connected.out).toContain(`+++ ${path}`);
      expect(connected.out).toContain(own);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      expect((await cli.runIn(folder, "connect", client, "--file", file, "--yes")).out).toContain(
        "has this server already",
      );
      const undone = await cli.runIn(folder, "disconnect", client, "--file", file, "--yes");
      expect(undone.out).toContain("byte for byte");
      expect(readFileSync(path, "utf8")).toBe(text);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      expect(readdirSync(join(path, "..")).filter((name) => name.includes("before-postern"))).toEqual([]);
      expect(connected.out + undone.out).not.toContain("s3cr3t");
    },
  );

  it.each(cases)("%s: a file that was changed after `connect` loses only our entry", async (client, file, text) => {
    const { folder, path } = project(file, text);
    await cli.runIn(folder, "connect", client, "--file", file, "--yes");
    const edited = readFileSync(path, "utf8")
      .replace('"a"', '"other"')
      .replace("[mcp_servers.a]", "[mcp_servers.other]");
    writeFileSync(path, `${edited}\n`);
    const { code, out } = await cli.runIn(folder, "disconnect", client, "--file", file, "--yes");
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("only this server was removed") });
    const rest = readFileSync(path, "utf8");
    expect(rest).not.toMatch(/postern/i);
    expect(rest).toContain(edited.includes("other") ? "other" : "mcpServers");
    expect(readdirSync(join(path, "..")).some((name) => name.includes("before-postern"))).toBe(true);
    expect(await cli.runIn(folder, "disconnect", client, "--file", file, "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("has no server `postern`"),
    });
  });

  it.each(["claude", "cursor", "vscode"])(
    "%s: without a file it is made in the project, and is gone again",
    async (client) => {
      const { folder } = project("unused");
      const { file, changed } = JSON.parse((await cli.runIn(folder, "connect", client, "--yes", "--json")).out);
      expect({ changed, there: existsSync(file), inside: file.startsWith(folder) }).toEqual({
        changed: true,
        there: true,
        inside: true,
      });
      expect((await cli.runIn(folder, "disconnect", client, "--yes")).out).toContain("so it is gone");
      expect(existsSync(file)).toBe(false);
    },
  );

  it("comments and the rest of the file keep their bytes", async () => {
    const { folder, path } = project(".vscode/mcp.json", vscodeFile);
    await cli.runIn(folder, "connect", "vscode", "--yes", "--stdio");
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines.filter((line) => vscodeFile.split("\n").includes(line))).toEqual(vscodeFile.split("\n"));
  });

  it("without a terminal and without `--yes` it shows the change and writes nothing", async () => {
    const { folder, path } = project(".mcp.json", "{}\n");
    for (const command of ["connect", "disconnect"]) {
      const before = readFileSync(path, "utf8");
      const { code, out, err } = await cli.runIn(folder, command, "claude");
      expect({ code, err }).toEqual({
        code: 2,
        err: expect.stringContaining("Nothing was written: there is no terminal"),
      });
      expect(out).toContain('"postern"');
      expect(readFileSync(path, "utf8")).toBe(before);
      await cli.runIn(folder, "connect", "claude", "--yes");
    }
  });

  it("at a terminal it writes only after a yes", async () => {
    const { folder, path } = project(".mcp.json", "{}\n");
    expect(await cli.atTerminal(folder, "", "connect", "claude")).toContain("[y/N] Nothing was written.");
    expect(readFileSync(path, "utf8")).toBe("{}\n");
    expect(await cli.atTerminal(folder, "y", "connect", "claude")).toContain("Connected Claude Code");
    expect(readFileSync(path, "utf8")).toContain('"postern"');
  });

  it("leaves another server `postern` as it is", async () => {
    const { folder, path } = project(".mcp.json", '{"mcpServers":{"postern":{"command":"mine"}}}');
    const { code, err } = await cli.runIn(folder, "connect", "claude", "--yes");
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("postern disconnect claude` removes it") });
    expect(readFileSync(path, "utf8")).toContain("mine");
  });

  it.each<[string, string, string, string]>([
    ["no JSON", "claude", '{"mcpServers": {"a": "s3cr3t" "b"}}', "line 1, column"],
    ["no TOML", "codex", 'a = "s3cr3t" b', "is not valid TOML (line 1, column"],
    ["a list", "claude", '["s3cr3t"]', "holds no object"],
    ["servers that are no object", "claude", '{"mcpServers": "s3cr3t"}', "is no object"],
    ["servers written twice", "claude", '{"mcpServers": {}, "mcpServers": {"b": {}}}', "by hand"],
    ["servers written inline", "codex", "mcp_servers = { a = { command = 's3cr3t' } }", "by hand"],
  ])("refuses a file with %s, says what to do, and repeats no value", async (_, client, text, printed) => {
    const { folder, path } = project("its-file", text);
    const { code, out, err } = await cli.runIn(folder, "connect", client, "--file", "its-file", "--yes");
    expect({ code, out, err }).toEqual({ code: 1, out: "", err: expect.stringContaining(printed) });
    expect(err).toContain("Nothing was written.");
    expect(err).not.toContain("s3cr3t");
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(readdirSync(folder).sort()).toEqual(["its-file", "postern.yaml"]);
  });

  it("refuses a link, a file with two names, a folder, and bytes that are no text", async () => {
    const { folder, path } = project("real.json", "{}");
    symlinkSync(path, join(folder, "link.json"));
    mkdirSync(join(folder, "folder.json"));
    writeFileSync(join(folder, "bytes.json"), Buffer.from([0x7b, 0xff, 0x7d]));
    const problemOf = async (file: string): Promise<string> =>
      (await cli.runIn(folder, "connect", "claude", "--file", file, "--yes")).err;
    expect(await problemOf("link.json")).toContain(
      `is a link, and a write would replace it. Name the file itself: \`--file ${path}\``,
    );
    expect(await problemOf("folder.json")).toContain("is not a file");
    expect(await problemOf("bytes.json")).toContain("is not UTF-8");
    linkSync(path, join(folder, "second.json"));
    expect(await problemOf("second.json")).toContain("more than one name");
    expect(readFileSync(path, "utf8")).toBe("{}");
  });

  it.skipIf(process.getuid?.() !== 0)("refuses the file of another user", async () => {
    const { folder, path } = project(".mcp.json", "{}");
    chownSync(path, 65_534, 65_534);
    expect((await cli.runIn(folder, "connect", "claude", "--yes")).err).toContain("belongs to another user (65534)");
    expect(readFileSync(path, "utf8")).toBe("{}");
  });

  it.each<[string, (path: string) => void, string]>([
    ["was edited", (path) => writeFileSync(path, '{ "new": 1 }'), "was changed after it was shown"],
    ["was replaced by a link", (path) => replaceByLink(path), "is a link"],
  ])("a file that %s after it was shown is not written", async (_, meanwhile, problem) => {
    const { folder, path } = project(".mcp.json", "{}");
    const file = await readClientFile(path);
    meanwhile(path);
    const before = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
    await expect(replaceClientFile(file, Buffer.from("ours"))).rejects.toThrow(problem);
    await expect(replaceClientFile(file, undefined)).rejects.toThrow(problem);
    expect(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")])).toEqual(before);
  });

  it("a file that appeared after it was found missing is not written", async () => {
    const { path } = project(".mcp.json");
    const file = await readClientFile(path);
    writeFileSync(path, "{}");
    await expect(replaceClientFile(file, Buffer.from("ours"))).rejects.toThrow("was changed after it was shown");
    expect(readFileSync(path, "utf8")).toBe("{}");
  });

  it("names the clients, needs a configuration, and an address that stays", async () => {
    const { folder } = project("unused");
    expect(await cli.runIn(folder, "connect", "cursr")).toMatchObject({
      code: 2,
      err: expect.stringContaining("Did you mean `cursor`?"),
    });
    writeFileSync(join(folder, "postern.yaml"), "listen: { port: 0 }\n");
    expect(await cli.runIn(folder, "connect", "claude", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("or connect with `--stdio`"),
    });
    expect((await cli.runIn(folder, "connect", "claude", "--yes", "--stdio")).code).toBe(0);
    const empty = join(cli.folder, "empty");
    mkdirSync(empty);
    expect((await cli.runIn(empty, "connect", "claude", "--yes")).err).toContain("There is no configuration");
  });
});
