/** JSON texts of a published collection, as messages and inside of messages, on every transport of MCP. */
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "@postern/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime, type ServerConfig, type ToolOutcome } from "../../../packages/postern/src/index.ts";
import { createMcpGateway } from "../../../packages/postern/src/mcp/server/mcp-server.ts";
import { jsonTexts } from "../../fakes/corpus.ts";
import { rawHttp, reply } from "../../fakes/raw-http.ts";
import { serveRuntime } from "../../fakes/served-runtime.ts";

const rows = jsonTexts();
/** Messages of pipes end with a line. */
const lineRows = rows.filter(({ bytes }) => !/[\n\r]/.test(bytes.toString("latin1").trimEnd()));
const echo = {
  name: "echo",
  description: "",
  risk: "safe",
  idempotent: true,
  input: { type: "object" },
  execute: (given: unknown) => given,
} as const;
const around = (before: string, inner: Buffer, after: string): Buffer =>
  Buffer.concat([Buffer.from(before), inner, Buffer.from(after)]);
const callWith = (inner: Buffer): Buffer =>
  around('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"it":', inner, "}}}");
const plainCall = callWith(Buffer.from('"still here"'));

/** What is wrong with the answer to a call with this row as an argument. */
function faultOf({ name, expect: expected, bytes }: (typeof rows)[number], answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return `${name}: no answer`;
  const { result, error } = answer;
  if (isJsonObject(error))
    return expected === "y" && !name.includes("duplicated_key") ? `${name}: ${error["message"]}` : undefined;
  if (expected === "n") return `${name}: accepted`;
  const { structuredContent } = result as { readonly structuredContent: unknown }; // of a result
  return isDeepStrictEqual(structuredContent, { it: storedValue(bytes) }) ? undefined : `${name}: ${structuredContent}`;
}

/** Results have no NUL characters, and one zero. */
function storedValue(bytes: Buffer): unknown {
  return JSON.parse(JSON.stringify(JSON.parse(bytes.toString())).replaceAll("\\u0000", "\uFFFD"));
}

describe.skipIf(rows.length === 0)("a text of JSONTestSuite from a client", () => {
  it("over HTTP is an error or a value, as a message and as an argument, and the next call is served", async () => {
    const { url, token } = await serveRuntime({ tools: [echo] });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const post = async (body: Buffer): Promise<unknown> => {
      const accept = "application/json, text/event-stream";
      const answered = await fetch(`${url}/mcp`, { method: "POST", headers: { ...headers, accept, ...session }, body });
      session["mcp-session-id"] ??= answered.headers.get("mcp-session-id") ?? "";
      const text = await answered.text();
      return text === "" ? undefined : JSON.parse(text);
    };
    const session: Record<string, string> = {};
    await post(greeting);
    const faults: unknown[] = [];
    for (const row of rows) {
      expect(await post(row.bytes), row.name).toMatchObject({ error: { code: expect.any(Number) } });
      faults.push(faultOf(row, await post(callWith(row.bytes))));
    }
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    expect(await post(plainCall)).toMatchObject({ id: 7, result: { isError: false } });
  });

  it("over pipes is an error or a value, as a message and as an argument, and the next call is served", async () => {
    const runtime = await createRuntime({ tools: [echo] });
    const gateway = createMcpGateway({ runtime });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const ended = gateway.serveStdio({ principal: { tenant: "t", agent: "ada" }, scopes: [] }, { input, output });
    onTestFinished(async () => {
      input.end();
      await ended;
      await gateway.close();
      await runtime.close(0);
    });
    const ask = async (line: Buffer): Promise<unknown> => {
      input.write(line);
      input.write("\n");
      const [written] = (await once(output, "data")) as [Buffer]; // one line
      return JSON.parse(String(written));
    };
    await ask(greeting);
    const faults: unknown[] = [];
    for (const row of lineRows) {
      if (row.bytes.toString().trim() !== "")
        expect(await ask(row.bytes), row.name).toMatchObject({ error: { code: expect.any(Number) } });
      faults.push(faultOf(row, await ask(callWith(row.bytes))));
    }
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    expect(await ask(plainCall)).toMatchObject({ id: 7, result: { isError: false } });
  });
});

const greeting = Buffer.from(
  JSON.stringify({
    ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  }),
);

describe.skipIf(rows.length === 0)("a text of JSONTestSuite from a server", () => {
  const answerWith = (inner: Buffer): Buffer =>
    around('{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"it":', inner, "}}}");

  /** What a call becomes whose answer is these bytes. */
  type Answered = (bytes: Buffer) => Promise<ToolOutcome>;

  async function overHttp(isStream: boolean): Promise<Answered> {
    let bytes: Buffer = Buffer.alloc(0);
    const { url } = await rawHttp(({ method, id }, response) => {
      if (method !== "tools/call") return false;
      const body = Buffer.from(bytes.toString("latin1").replace("$ID", String(id)), "latin1");
      if (!isStream) return reply(response, body as unknown as string); // `end` takes bytes as well
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(around("data: ", body, "\n\n"));
      return true;
    });
    const call = await calls({ url }, "one__t");
    return (given) => {
      bytes = given;
      return call({});
    };
  }

  async function overPipes(): Promise<Answered> {
    const call = await calls({ command: process.execPath, args: ["test/fakes/raw-server.ts"] }, "one__raw");
    return (bytes) => call({ latin1: bytes.toString("latin1") });
  }

  async function calls(server: ServerConfig, tool: string): Promise<(args: object) => Promise<ToolOutcome>> {
    const runtime = await createRuntime({ servers: { one: { ...server, risk: "safe" } } });
    onTestFinished(() => runtime.close(0));
    let calls = 0;
    return (args) => {
      calls += 1;
      return runtime.invoke({ tool, arguments: { ...args, calls } });
    };
  }

  it.each([
    ["an answer of HTTP", rows, () => overHttp(false)],
    ["an event of a stream", lineRows, () => overHttp(true)],
    ["a line of a pipe", lineRows, overPipes],
  ] as const)("as %s, and inside of a result, ends its call, and the next call is served", async (_way, own, open) => {
    const answered = await open();
    const faults: string[] = [];
    for (const { name, expect: expected, bytes } of own) {
      const { status, structured, refusal } = await answered(answerWith(bytes));
      if (status !== "ok" && expected === "y") faults.push(`${name}: ${refusal?.message}`);
      if (status === "ok" && expected === "n") faults.push(`${name}: accepted`);
      if (status === "ok" && expected === "y") expect.soft(structured, name).toEqual({ it: storedValue(bytes) });
    }
    expect(faults).toEqual([]);
    const next = await answered(answerWith(Buffer.from('"still here"')));
    expect(next).toMatchObject({ status: "ok", structured: { it: "still here" } });
  });
});
