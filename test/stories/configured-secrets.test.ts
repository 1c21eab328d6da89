import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type ServerConfig,
} from "../../packages/postern/src/index.ts";
import { connectMcp } from "../../packages/postern/src/mcp/client/connect-mcp.ts";

const root = join(import.meta.dirname, "../..");
const tellsItsEnvironment: ServerConfig = {
  command: process.execPath,
  args: [join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
  tools: { "get-env": { risk: "safe", effects: "read" } },
};
const of = (name: string): string => `\${${name}}`;

function withVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    process.env[name] = value;
    onTestFinished(() => void delete process.env[name]);
  }
}

async function running(options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime(options);
  onTestFinished(() => runtime.close(0));
  return runtime;
}

/** An HTTP server of 2025-11-25 with one tool that answers with the request's headers and address. */
async function echoServer(): Promise<string> {
  const server = createServer(async (request, response) => {
    const { id, method } = await messageOf(request);
    const answer = (result: object): void => {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    const capabilities = { tools: {} };
    if (id === undefined) response.writeHead(202).end();
    else if (method === "initialize")
      answer({ protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "telling", version: "1" } });
    else if (method === "tools/list") answer({ tools: [{ name: "tell", inputSchema: { type: "object" } }] });
    else if (method === "tools/call")
      answer({ content: [{ type: "text", text: requestText(request.headers, request.url) }] });
    else response.writeHead(400).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
}

async function messageOf(body: AsyncIterable<Buffer>): Promise<{ readonly id?: number; readonly method?: string }> {
  let text = "";
  for await (const piece of body) text += piece.toString();
  return text === "" ? {} : JSON.parse(text);
}

function requestText(headers: IncomingHttpHeaders, url = ""): string {
  return `${url}\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join("\n")}`;
}

async function inTheLog(runtime: Runtime): Promise<string> {
  let text = "";
  for await (const line of runtime.audit.export()) text += `${line}\n`;
  return text;
}

describe("a secret that a server's configuration contains", () => {
  it("is masked in what a server returns of its environment", async () => {
    withVariables({
      POSTERN_T_LOGIN: "tuna-sandwich-77",
      POSTERN_T_DATABASE: "postgres://me:pa55-w0rd@db.example.org/sales",
      POSTERN_T_REGION: "eu-central-1",
      POSTERN_T_FLAG: "true",
    });
    const env = {
      LOGIN: of("POSTERN_T_LOGIN"),
      DATABASE: of("POSTERN_T_DATABASE"),
      REGION: of("POSTERN_T_REGION"),
      FLAG: of("POSTERN_T_FLAG"),
      API_TOKEN: "written-out-1",
      GREETING: "hello world",
    };
    const runtime = await running({ servers: { demo: { ...tellsItsEnvironment, env } } });
    const { text } = await runtime.invoke({ tool: "demo__get-env", arguments: {} });
    expect(text).toContain('"LOGIN": "[redacted]"');
    expect(text).toContain('"DATABASE": "postgres://me:[redacted]@db.example.org/sales"');
    expect(text).toContain('"API_TOKEN": "[redacted]"');
    for (const plain of ['"REGION": "eu-central-1"', '"FLAG": "true"', '"GREETING": "hello world"'])
      expect(text).toContain(plain);
  });

  it("is masked in what a server returns of its headers and address, and in the log", async () => {
    withVariables({ POSTERN_T_BEARER: "tuna-sandwich-77", POSTERN_T_HOST: await echoServer() });
    const server: ServerConfig = {
      url: `http://${of("POSTERN_T_HOST")}/mcp?api_key=written-out-1&page=second-page`,
      revision: "2025-11-25",
      risk: "safe",
      headers: {
        authorization: `Bearer ${of("POSTERN_T_BEARER")}`,
        "proxy-authorization": `Basic ${Buffer.from("me:pa55-w0rd").toString("base64")}`,
        cookie: "session=written-out-2; theme=x",
        "x-trace": "an-ordinary-value",
      },
    };
    const runtime = await running({ servers: { remote: server } });
    const { text } = await runtime.invoke({ tool: "remote__tell", arguments: {} });
    expect(text).toContain("/mcp?api_key=[redacted]&page=second-page");
    expect(text).toContain("authorization: Bearer [redacted]");
    expect(text).toContain("proxy-authorization: Basic [redacted]");
    expect(text).toContain("cookie: session=[redacted]; theme=x");
    expect(text).toContain("x-trace: an-ordinary-value");
    expect(text).toContain("host: 127.0.0.1");
    const outcome = await runtime.invoke({ tool: "no pa55-w0rd tuna-sandwich-77", arguments: {} });
    expect(JSON.stringify(outcome) + (await inTheLog(runtime))).not.toMatch(/pa55-w0rd|tuna-sandwich|written-out/);
  });

  it("is masked in the reason why a server could not start", async () => {
    withVariables({ POSTERN_T_LOGIN: "tuna-sandwich-77" });
    const program = "console.error('wrong: ' + process.argv[1] + ' ' + process.argv[3]); process.exit(3)";
    const args = ["-e", program, of("POSTERN_T_LOGIN"), "--api-key", "written-out-1"];
    const runtime = await running({ servers: { demo: { command: process.execPath, args } } });
    const [server] = runtime.health().servers;
    expect(server?.problem).toContain("wrong: [redacted] [redacted]");
    expect(await inTheLog(runtime)).not.toMatch(/tuna-sandwich|written-out/);
  });

  it("is masked in the results of a server that a toolbox is connected to", async () => {
    withVariables({ POSTERN_T_LOGIN: "tuna-sandwich-77" });
    await using box = await connectMcp({ ...tellsItsEnvironment, env: { LOGIN: of("POSTERN_T_LOGIN") } });
    const runtime = await running({ tools: box });
    const { text } = await runtime.invoke({ tool: "get-env", arguments: {} });
    expect(text).toContain('"LOGIN": "[redacted]"');
  });

  it("is refused in arguments", async () => {
    withVariables({ POSTERN_T_LOGIN: "tuna-sandwich-77" });
    const env = { LOGIN: of("POSTERN_T_LOGIN") };
    const runtime = await running({ servers: { demo: { ...tellsItsEnvironment, env } } });
    const refused = await runtime.invoke({ tool: "demo__echo", arguments: { message: "it is tuna-sandwich-77" } });
    expect(refused.refusal?.code).toBe("secret_in_arguments");
  });
});

it("is masked if it is a witness's token or a channel's address", async () => {
  const runtime = await running({
    audit: { witness: { url: "http://127.0.0.1:9/heads?api_key=written-out-1", token: "written-out-2" } },
    channels: {
      webhooks: [
        { name: "ops", url: "https://hooks.example.org/T01/a1b2c3d4e5f6g7h8i9j0k1", secret: "whsec_written-out-3" },
      ],
    },
  });
  await runtime.note("example.said", "written-out-1 written-out-2 a1b2c3d4e5f6g7h8i9j0k1 written-out-3");
  expect(await inTheLog(runtime)).toContain("[redacted] [redacted] [redacted] [redacted]");
});
