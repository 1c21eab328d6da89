/** The gateway guide's blocks, used by a real client in another folder. */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";
import type { PosternProcess } from "../fakes/postern-process.ts";

const root = join(import.meta.dirname, "../..");
const guide = readFileSync(join(root, "docs/guide/gateway.md"), "utf8");
const cli = new CommandLine();
const data = join(cli.folder, ".postern");
let running: Awaited<ReturnType<PosternProcess["start"]>>;
let port = 0;
beforeAll(async () => {
  running = await cli.start(data);
  port = JSON.parse(readFileSync(join(data, "server.json"), "utf8")).port;
});
afterAll(async () => {
  running.child.kill("SIGTERM");
  await running.end;
  cli[Symbol.dispose]();
});

/** Returns the guide's nth block of this form, with the reader's values filled in. */
function pasted(n: number, own: Readonly<Record<string, string>>): Record<string, unknown> {
  const blocks = [...guide.matchAll(/```json\n(\{\n {2}"mcpServers"[\s\S]*?)```/g)].map(([, block = ""]) => block);
  const text = Object.entries(own).reduce((output, [theirs, ours]) => {
    expect(output).toContain(theirs);
    return output.replaceAll(theirs, ours);
  }, blocks[n] ?? "");
  return JSON.parse(text).mcpServers.postern;
}

async function calledBy(transport: Transport): Promise<unknown> {
  const client = new Client({ name: "guide", version: "1" });
  await client.connect(transport);
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("echo");
    return (await client.callTool({ name: "echo", arguments: { text: "hello" } })).content;
  } finally {
    await client.close();
  }
}

it("the block for HTTP reaches Postern with a token of the client's own", async () => {
  const { out } = await cli.run("tokens", "create", "desk-assistant", "--days", "90", "--json", "--data", data);
  const { token }: { token: string } = JSON.parse(out);
  const { url, headers } = pasted(0, { "127.0.0.1:7420": `127.0.0.1:${port}`, TOKEN: token }) as {
    url: string; // the block's own two members
    headers: Record<string, string>;
  };
  const transport = () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  expect(await calledBy(transport())).toEqual([{ type: "text", text: "hello" }]);
  const { out: shown } = await cli.run("audit", "show", "--data", data);
  expect(shown).toContain("desk-assistant");
});

it("the block for stdio joins the running Postern from any folder", async () => {
  const { command, args } = pasted(1, {
    "/usr/local/bin/node": process.execPath,
    "/home/you/project/node_modules/postern/bin/postern.js": join(root, "packages/postern/bin/postern.js"),
    "/home/you/project/postern.yaml": join(cli.folder, "postern.yaml"),
  }) as { command: string; args: string[] }; // the block's own two members
  const transport = new StdioClientTransport({ command, args, cwd: tmpdir(), env: {} });
  expect(await calledBy(transport)).toEqual([{ type: "text", text: "hello" }]);
});
