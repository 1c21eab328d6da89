/**
 * The gateway guide, from `init --from` to the first approval and the first sign-in at a server: a project whose client has
 * servers of its own. They move to Postern, and the client is pointed at Postern.
 */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../fakes/command-line.ts";
import { GuardedServer } from "../fakes/guarded-server.ts";
import { signInAt } from "../fakes/openid-provider.ts";

const cli = new CommandLine();
const folder = join(cli.folder, "project");
const files = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
const own = {
  command: process.execPath,
  args: [files, `\${workspaceFolder}/docs`],
  env: { API_TOKEN: "t0ken-of-the-files-server" },
};
const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/gateway.md"), "utf8");
let guarded: GuardedServer;
let running: ReturnType<CommandLine["open"]>;
let port = "";
let printed = "";

/** A command as the guide has it. */
function inGuide(...words: readonly string[]): readonly string[] {
  expect(guide).toContain(`npx postern ${words.join(" ")}`);
  return words;
}

beforeAll(async () => {
  guarded = await GuardedServer.start();
});

beforeAll(async () => {
  mkdirSync(join(folder, "docs"), { recursive: true });
  mkdirSync(join(folder, ".cursor"));
  writeFileSync(join(folder, "docs/note.txt"), "hello");
  const tracker = { url: guarded.url };
  writeFileSync(
    join(folder, ".cursor/mcp.json"),
    JSON.stringify({ mcpServers: { files: own, tracker } }, undefined, 2),
  );
  expect(await cli.runIn(folder, ...inGuide("init", "--from", ".cursor/mcp.json"))).toMatchObject({ code: 0, err: "" });
  const config = join(folder, "postern.yaml");
  writeFileSync(config, readFileSync(config, "utf8").replace(`url: ${guarded.url}`, `$&\n${oauthInGuide()}`));
  mkdirSync(join(folder, ".postern"), { mode: 0o700 });
  const set = ["secrets", "set", "files", "API_TOKEN", "--config", config];
  expect((await cli.given(own.env.API_TOKEN, ...set)).code).toBe(0);
  running = cli.open(["start", "--port", "0"], folder);
  while (!printed.includes("Try next"))
    printed += String((await once(running.child.stdout ?? running.child, "data"))[0]);
  port = String(JSON.parse(readFileSync(join(folder, ".postern/server.json"), "utf8")).port);
});

afterAll(async () => {
  running.child.kill("SIGTERM");
  await running.end;
  await guarded[Symbol.asyncDispose]();
  cli[Symbol.dispose]();
});

it("a tool of the imported server asks a person, and runs once it is approved", async () => {
  expect(await approved("files__read_text_file", `path=${join(folder, "docs/note.txt")}`)).toBe("hello\n");
});

/** What a call gives that a person approves. */
async function approved(...words: readonly string[]): Promise<string> {
  expect((await cli.runIn(folder, "call", ...words)).code).toBe(4);
  const { approvals } = JSON.parse((await cli.runIn(folder, "approvals", "--json")).out);
  expect((await cli.runIn(folder, "approvals", "approve", approvals[0].approval_id)).code).toBe(0);
  const { code, out } = await cli.runIn(folder, "call", ...words);
  expect(code).toBe(0);
  return out;
}

/** The line of the guide that makes people sign in at a server. */
function oauthInGuide(): string {
  const [line = ""] = /^ +oauth: \{\}/m.exec(guide) ?? [];
  expect(line).not.toBe("");
  return line;
}

it("a person signs in at the server that asks for it, and calls go out with that person's token", async () => {
  const { out } = await cli.runIn(folder, ...inGuide("connections", "sign-in", "tracker"));
  const origin = `http://127.0.0.1:${port}`;
  expect(out).toBe(`${origin}/connections/tracker\n`);
  const [, link = ""] = /#link=(\S+)/.exec(printed) ?? [];
  const browser = { origin, "content-type": "application/json", "sec-fetch-site": "same-origin" };
  const entered = await fetch(`${origin}/v1/session/link`, {
    ...{ method: "POST", headers: browser, body: JSON.stringify({ token: link }) },
  });
  const { csrf } = (await entered.json()) as { readonly csrf: string }; // of the contract
  const session = { ...browser, cookie: cookiesOf(entered), "x-postern-csrf": csrf };
  const begun = await fetch(`${origin}/v1/connections/tracker/sign-in`, { method: "POST", headers: session });
  const { url } = (await begun.json()) as { readonly url: string }; // of the contract
  const back = await signInAt(guarded.issuer, url, "ada");
  const cookie = `${session.cookie}; ${cookiesOf(begun)}`;
  const finished = await fetch(back, { headers: { cookie }, redirect: "manual" });
  expect(finished.headers.get("location")).toBe("/connections/tracker?sign_in=done");
  expect((await cli.runIn(folder, ...inGuide("connections"))).out).toMatch(/tracker .* connected/);
  await expect.poll(async () => (await cli.runIn(folder, "tools")).out).toContain("tracker__whoami");
  expect(await approved("tracker__whoami")).toBe("ada\n");
});

function cookiesOf(answered: Response): string {
  return answered.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}

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
