/** A project whose client has a server of its own: the server moves to Postern, and the client is pointed at Postern. */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";

const cli = new CommandLine();
const folder = join(cli.folder, "project");
const files = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
const own = {
  command: process.execPath,
  args: [files, `\${workspaceFolder}/docs`],
  env: { API_TOKEN: "t0ken-of-the-files-server" },
};
let running: ReturnType<CommandLine["open"]>;
let port = "";

beforeAll(async () => {
  mkdirSync(join(folder, "docs"), { recursive: true });
  mkdirSync(join(folder, ".cursor"));
  writeFileSync(join(folder, "docs/note.txt"), "hello");
  writeFileSync(join(folder, ".cursor/mcp.json"), JSON.stringify({ mcpServers: { files: own } }, undefined, 2));
  expect(await cli.runIn(folder, "init", "--from", ".cursor/mcp.json")).toMatchObject({ code: 0, err: "" });
  mkdirSync(join(folder, ".postern"), { mode: 0o700 });
  const config = ["--config", join(folder, "postern.yaml")];
  expect((await cli.given(own.env.API_TOKEN, "secrets", "set", "files", "API_TOKEN", ...config)).code).toBe(0);
  running = cli.open(["start", "--port", "0"], folder);
  for (
    let text = "";
    !text.includes("Try next");
    text += String((await once(running.child.stdout ?? running.child, "data"))[0])
  );
  port = String(JSON.parse(readFileSync(join(folder, ".postern/server.json"), "utf8")).port);
});

afterAll(async () => {
  running.child.kill("SIGTERM");
  await running.end;
  cli[Symbol.dispose]();
});

it("a tool of the imported server asks a person, and runs once it is approved", async () => {
  const call = ["call", "files__read_text_file", `path=${join(folder, "docs/note.txt")}`];
  expect((await cli.runIn(folder, ...call)).code).toBe(4);
  const { approvals } = JSON.parse((await cli.runIn(folder, "approvals", "--json")).out);
  expect((await cli.runIn(folder, "approvals", "approve", approvals[0].approval_id)).code).toBe(0);
  expect(await cli.runIn(folder, ...call)).toMatchObject({ code: 0, out: "hello\n" });
});

it("the entry that `connect` writes for HTTP reaches Postern with a token from the environment", async () => {
  await cli.runIn(folder, "connect", "claude", "--yes", "--port", port);
  const { url, headers } = JSON.parse(readFileSync(join(folder, ".mcp.json"), "utf8")).mcpServers.postern;
  const token = readFileSync(join(folder, ".postern/agent.token"), "utf8").trim();
  const authorization = headers.Authorization.replace(`\${POSTERN_AGENT_TOKEN}`, token);
  expect(
    await toolsAt(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } })),
  ).toContain("files__read_text_file");
});

it("the entry that `connect` writes for stdio joins the running Postern", async () => {
  await cli.runIn(folder, "connect", "claude-desktop", "--yes", "--file", "desktop.json");
  const { command, args } = JSON.parse(readFileSync(join(folder, "desktop.json"), "utf8")).mcpServers.postern;
  expect(await toolsAt(new StdioClientTransport({ command, args, cwd: "/", env: {} }))).toContain(
    "files__read_text_file",
  );
});

async function toolsAt(transport: Transport): Promise<readonly string[]> {
  const client = new Client({ name: "story", version: "1" });
  await client.connect(transport);
  try {
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}
