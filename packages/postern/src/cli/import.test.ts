import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { loadConfig } from "../config/load.ts";
import type { Settings } from "../config/settings.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

let values = 0;

interface Imported {
  readonly folder: string;
  readonly out: string;
  /** The text of the new configuration. */
  readonly text: string;
  readonly servers: Settings["servers"];
}

/** Imports a file into a new folder, and reads the configuration as `start` does. */
async function imported(name: string, file: string, content: string): Promise<Imported> {
  const folder = join(cli.folder, name);
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), content);
  const { code, out, err } = await cli.runIn(folder, "init", "--from", file);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const text = readFileSync(join(folder, "postern.yaml"), "utf8");
  const { servers } = await loadConfig({ flags: { config: "postern.yaml" }, environment: {}, folder });
  return { folder, out, text, servers };
}

describe("postern init --from", () => {
  it("takes over Claude Desktop: secrets become references, and no value is shown", async () => {
    const { folder, out, text, servers } = await imported(
      "desktop",
      "claude_desktop_config.json",
      JSON.stringify({
        globalShortcut: "",
        mcpServers: {
          github: { command: "npx", args: ["-y", "some-github"], env: { GITHUB_TOKEN: token, LOG: "debug", PORT: 80 } },
        },
      }),
    );
    expect(servers["github"]).toEqual({
      command: "npx",
      args: ["-y", "some-github"],
      env: { GITHUB_TOKEN: "secret://github/GITHUB_TOKEN", LOG: "debug", PORT: "80" },
      cwd: folder,
    });
    expect(out).toContain("postern secrets set github GITHUB_TOKEN");
    expect(out + text).not.toContain(token);
    expect(readdirSync(folder).sort()).toEqual([".gitignore", "claude_desktop_config.json", "postern.yaml"]);
  });

  it("takes over Claude Code: `type`, headers and variables", async () => {
    const { out, servers } = await imported(
      "code",
      ".mcp.json",
      JSON.stringify({
        mcpServers: {
          tracker: {
            type: "sse",
            url: `\${TRACKER:-https://mcp.example.org}/sse?api_key=k3y-of-the-tracker`,
            headers: { Authorization: "Bearer abcdef-123456" },
            timeout: 5000,
          },
          open: { type: "http", url: "https://open.example.org/mcp", headers: { "X-Team": `\${TEAM}` } },
          socket: { type: "ws", url: "wss://example.org" },
        },
      }),
    );
    expect(servers["tracker"]).toEqual({
      url: "secret://tracker/url",
      transport: "sse",
      headers: { authorization: "Bearer secret://tracker/authorization" },
      callTimeoutMs: 5000,
    });
    expect(servers["open"]).toEqual({
      url: "https://open.example.org/mcp",
      transport: "http",
      headers: { "x-team": `\${TEAM}` },
    });
    expect(out).toMatch(/Set these variables where Postern runs:\n {2}TEAM\n/);
    expect(out).toContain("`socket`: it is left out: Postern does not speak `ws`");
    expect(out).not.toMatch(/abcdef|k3y/);
  });

  it("takes over `~/.claude.json`: servers of the user, and those of this project", async () => {
    const folder = join(cli.folder, "local");
    const content = {
      mcpServers: { one: { command: "one" } },
      projects: {
        [folder]: { mcpServers: { two: { command: "two" } } },
        "/other": { mcpServers: { three: { command: "no" } } },
      },
    };
    const { servers } = await imported("local", "dot-claude.json", JSON.stringify(content));
    expect(Object.keys(servers)).toEqual(["one", "two"]);
  });

  it("takes over Cursor: comments, variables, `disabled`, switched off tools", async () => {
    const { folder, out, servers } = await imported(
      "cursor",
      ".cursor/mcp.json",
      `{
  // of the team
  "mcpServers": {
    "my server__1": {
      "command": "node", "args": ["\${workspaceFolder}/server.js", "--root", "\${userHome}/x"],
      "env": { "A": "\${env:B}" }, "disabled": true, "disabledTools": ["wipe"], "autoApprove": ["list"],
    },
  },
}`,
    );
    expect(servers).toEqual({
      "my-server_1": {
        command: "node",
        args: [`${folder}/server.js`, "--root", `\${HOME}/x`],
        env: { A: `\${B}` },
        enabled: false,
        cwd: folder,
        tools: { wipe: expect.objectContaining({ enabled: false, optional: true }) },
      },
    });
    expect(out).toContain("`my server__1` is named `my-server_1` here");
    expect(out).toContain("ran `list` unasked");
  });

  it("takes over VS Code: `inputs` with a password are secrets, others keep their default", async () => {
    const { out, servers } = await imported(
      "vscode",
      ".vscode/mcp.json",
      JSON.stringify({
        inputs: [
          { type: "promptString", id: "api-token", description: "t", password: true },
          { type: "promptString", id: "region", default: "eu" },
          { type: "pickString", id: "team", options: ["a"] },
        ],
        servers: {
          box: {
            type: "stdio",
            command: "box",
            args: ["--key", `\${input:api-token}`],
            env: {
              TOKEN: `\${input:api-token}`,
              REGION: `\${input:region}`,
              TEAM: `\${input:team}`,
              BOTH: `\${env:A}:\${input:api-token}`,
            },
          },
          web: { type: "http", url: "https://web.example.org", headers: { "X-Key": `k \${input:api-token}` } },
        },
      }),
    );
    expect(servers["box"]).toMatchObject({
      args: ["--key", `\${API_TOKEN}`],
      env: { TOKEN: "secret://box/api-token", REGION: "eu", TEAM: `\${TEAM}`, BOTH: "secret://box/BOTH" },
    });
    expect(servers["web"]).toMatchObject({ headers: { "x-key": "k secret://web/api-token" } });
    expect(out).toContain("postern secrets set box api-token");
    expect(out).toContain("API_TOKEN: `args[1]` of `box` asks for `api-token`");
  });

  it("takes over Codex: tables, `enabled`, headers and tokens by variable, time limits", async () => {
    const { out, servers } = await imported(
      "codex",
      "config.toml",
      `model = "some"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["DOCS_HOME"]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
[mcp_servers.docs.env]
API_KEY = "123456789"
[mcp_servers.figma]
url = "https://mcp.example.org/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "us" }
env_http_headers = { "X-User" = "WHO" }
enabled = false
enabled_tools = ["read"]
`,
    );
    expect(servers["docs"]).toMatchObject({
      env: { DOCS_HOME: `\${DOCS_HOME}`, API_KEY: "secret://docs/API_KEY" },
      startTimeoutMs: 20_000,
      callTimeoutMs: 1_500,
    });
    expect(servers["figma"]).toEqual({
      url: "https://mcp.example.org/mcp",
      headers: { authorization: `Bearer \${FIGMA_TOKEN}`, "x-user": `\${WHO}`, "x-region": "us" },
      enabled: false,
    });
    expect(out).toContain("only its `enabled_tools`");
    expect(out).not.toContain("123456789");
  });

  it.each<[string, string, string]>([
    ["API_KEY", "1234567890", "secret://s/API_KEY"],
    ["DB_PASS", "hunter2hunter2", "secret://s/DB_PASS"],
    ["DATABASE_URL", "postgres://u:pw@localhost/db", "secret://s/DATABASE_URL"],
    ["CONNECTION", "Server=db;Password=hunter2;", "secret://s/CONNECTION"],
    ["MCP_HEADERS", '{"Authorization": "Bearer abcdef12345"}', "secret://s/MCP_HEADERS"],
    ["ANY", token, "secret://s/ANY"],
    ["ANY", `\${X:-${token}}`, "secret://s/ANY"],
    ["ANY", "secret://github/token", "secret://s/ANY"],
    ["HEADER", `Authorization: Bearer \${TOKEN}`, `Authorization: Bearer \${TOKEN}`],
    ["MAX_TOKENS", "100000", "100000"],
    ["API_KEY_FILE", "/run/key", "/run/key"],
    ["API_KEY", "", ""],
  ])("finds the secret in a variable: %s = %s", async (name, value, expected) => {
    const content = JSON.stringify({ mcpServers: { s: { command: "x", env: { [name]: value } } } });
    values += 1;
    const { out, text, servers } = await imported(`value ${values}`, "mcp.json", content);
    expect(servers["s"]?.env).toEqual({ [name]: expected });
    if (value !== expected) expect(out + text).not.toContain(value);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["--token VALUE", ["--token", "c2VjcmV0LXZhbHVl=="], ["--token", `\${S_TOKEN}`]],
    ["--token=VALUE", ["--api-token=abcdef12345"], [`--api-token=\${S_API_TOKEN}`]],
    ["-e NAME=VALUE", ["run", "-e", "DB_PASSWORD=hunter2hunter2"], ["run", "-e", `DB_PASSWORD=\${S_DB_PASSWORD}`]],
    [
      "a header",
      ["--header", "Authorization: Bearer abcdef12345"],
      ["--header", `Authorization: Bearer \${S_AUTHORIZATION}`],
    ],
    ["a password in an address", ["postgresql://u:pw@localhost/db"], [`\${S_ARGUMENT_1}`]],
    ["what looks like a token", [token], [`\${S_ARGUMENT_1}`]],
    [
      "nothing secret",
      ["--root=/tmp", "https://example.org", "a=b", "--"],
      ["--root=/tmp", "https://example.org", "a=b", "--"],
    ],
  ])("a secret in `args` becomes a variable: %s", async (name, args, expected) => {
    const content = JSON.stringify({ mcpServers: { s: { command: "x", args } } });
    const { out, text, servers } = await imported(`args of ${name}`, "mcp.json", content);
    expect(servers["s"]?.args).toEqual(expected);
    for (const word of args.filter((one) => !expected.includes(one))) expect(out + text).not.toContain(word);
  });

  it.each<[string, string, string]>([
    ["no JSON", "mcp.json", '{"mcpServers": {"a": {"env": {"KEY": "s3cr3t-value" "x"}}}}'],
    ["no TOML", "config.toml", '[mcp_servers.a]\nenv = { KEY = "s3cr3t-value" oops }'],
    ["no object", "mcp.json", '["s3cr3t-value"]'],
    ["no servers", "mcp.json", '{"x": "s3cr3t-value"}'],
    ["servers that are no object", "mcp.json", '{"mcpServers": "s3cr3t-value"}'],
    ["a server that is no object", "mcp.json", '{"mcpServers": {"a": "s3cr3t-value"}}'],
  ])("refuses a file with %s, writes nothing and repeats no value", async (name, file, content) => {
    const folder = join(cli.folder, `bad ${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, file), content);
    const { code, out, err } = await cli.runIn(folder, "init", "--from", file);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("Nothing was written.");
    expect(err).not.toContain("s3cr3t");
    expect(readdirSync(folder)).toEqual([file]);
  });

  it("overwrites no configuration, and names a file that is not there", async () => {
    const folder = join(cli.folder, "taken");
    mkdirSync(folder);
    expect(await cli.runIn(folder, "init", "--from", "none.json")).toMatchObject({
      code: 2,
      err: expect.stringContaining("is not there"),
    });
    writeFileSync(join(folder, "postern.yaml"), "version: 1\n");
    expect(await cli.runIn(folder, "init", "--from", "none.json")).toMatchObject({
      code: 1,
      err: expect.stringContaining("there already"),
    });
  });

  it("without a file it lists the files that are here, and writes nothing", async () => {
    const folder = join(cli.folder, "lists");
    mkdirSync(join(folder, ".vscode"), { recursive: true });
    writeFileSync(join(folder, ".vscode/mcp.json"), "{}");
    const { code, out } = await cli.runIn(folder, "init", "--from", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out).found).toContainEqual({
      client: "vscode",
      title: "VS Code",
      file: join(folder, ".vscode/mcp.json"),
    });
    expect(readdirSync(folder)).toEqual([".vscode"]);
  });

  it.each([
    ["y", true],
    ["n", false],
  ])("at a terminal it offers to seal the secrets: %s", async (answer, isStored) => {
    const folder = join(cli.folder, `asked-${answer}`);
    mkdirSync(folder);
    writeFileSync(
      join(folder, "mcp.json"),
      JSON.stringify({ mcpServers: { s: { command: "x", env: { API_KEY: "k3y-for-this-test" } } } }),
    );
    const written = await cli.atTerminal(folder, answer, "init", "--from", "mcp.json");
    expect(written).toContain("Put 1 secret of");
    expect(written).not.toContain("k3y-for");
    expect(written.includes("secrets set s API_KEY")).toBe(!isStored);
    if (!isStored) return expect(readdirSync(folder)).not.toContain(".postern");
    expect((await cli.runIn(folder, "secrets", "list")).out).toBe("s/API_KEY\n");
    expect(statSync(join(folder, ".postern/secrets.age")).mode & 0o777).toBe(0o600);
  });
});
