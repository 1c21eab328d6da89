import { expect, it, onTestFinished } from "vitest";
import { rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime, type ServerConfig, type ToolOutcome } from "../../index.ts";

/** A server says something; test/fakes/raw-server.ts writes it as it is told. */
const overPipes: ServerConfig = { command: process.execPath, args: ["test/fakes/raw-server.ts"] };

async function open(server: ServerConfig, risk: "safe" | "medium"): Promise<Runtime> {
  const effects = risk === "safe" ? "read" : "write";
  const runtime = await createRuntime({
    servers: { one: { ...server, risk, tools: { raw: { effects }, t: { effects } } } },
    policy: { maxRiskUnapproved: "high" },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

type Way = "pipes" | "json" | "stream";
const ways: readonly Way[] = ["pipes", "json", "stream"];

/** What a call becomes whose answer is this text. A call that hangs fails the test by its time. */
async function answered(text: string, way: Way, risk: "safe" | "medium" = "medium"): Promise<ToolOutcome> {
  if (way === "pipes") return (await open(overPipes, risk)).invoke({ tool: "one__raw", arguments: { text } });
  const { url } = await rawHttp(({ method, id }, response) => {
    if (method !== "tools/call") return false;
    const body = text.replaceAll("$ID", String(id));
    if (way === "json") return reply(response, body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${body}\n\n`); // and it stays open
    return true;
  });
  return (await open({ url }, risk)).invoke({ tool: "one__t" });
}

const result = '"result":{"content":[{"type":"text","text":"x"}]}';
const unreadable: readonly (readonly [string, string])[] = [
  ["holds `NaN`", '{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"v":NaN}}}'],
  ["holds `-Infinity`", '{"result":{"content":[],"structuredContent":{"v":-Infinity}},"jsonrpc":"2.0","id":$ID}'],
  ["is no JSON", '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","te'],
  ["is no JSON", `{"jsonrpc":"2.0","id":$ID,${result},}`],
  ["has no `jsonrpc`", `{"id":$ID,${result}}`],
  ['has `jsonrpc`: `"1.0"`', `{"jsonrpc":"1.0","id":$ID,${result}}`],
  ["has the `id` `true`", `{"jsonrpc":"2.0","id":true,${result}}`],
  ["has the `id` `null`", `{"jsonrpc":"2.0",${result}}`],
  ["has the `result` `null`", '{"jsonrpc":"2.0","id":$ID,"result":null}'],
  ['has the `result` `"x"`', '{"jsonrpc":"2.0","id":$ID,"result":"x"}'],
  ["has neither `result` nor `error`", '{"jsonrpc":"2.0","id":$ID}'],
];

it.each(unreadable.flatMap(([what, text]) => ways.map((way) => [way, what, text] as const)))(
  "an answer over %s that %s ends its call at once, as unknown",
  async (way, what, text) => {
    const outcome = await answered(text, way);
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "outcome_unknown" } });
    expect(outcome.text).toContain(what);
    expect(outcome.text).not.toContain("lost");
  },
);

it.each(ways)("a call over %s that only reads has failed, and may be sent again", async (way) => {
  const outcome = await answered('{"jsonrpc":"2.0","id":$ID,"result":{"content":[NaN]}}', way, "safe");
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
  expect(outcome.text).toContain("its server answered, but the answer is no JSON: it holds `NaN`");
});

const readable: readonly (readonly [string, string])[] = [
  ["`_meta: null`", '{"jsonrpc":"2.0","id":$ID,"result":{"_meta":null,"content":[{"type":"text","text":"x"}]}}'],
  [
    "null for optional members of a block",
    '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"x","annotations":null,"_meta":null}],"isError":null}}',
  ],
  ["`error: null` beside a result", `{"jsonrpc":"2.0","id":$ID,"error":null,${result}}`],
  ["members of its own", `{"jsonrpc":"2.0","id":$ID,"took":5,${result}}`],
  ["the id as a text", `{"jsonrpc":"2.0","id":"$ID",${result}}`],
  ["a batch", `[{"jsonrpc":"2.0","id":$ID,${result}}]`],
];

it.each(readable.flatMap(([what, text]) => ways.map((way) => [way, what, text] as const)))(
  "an answer over %s with %s is a result like any other",
  async (way, _what, text) => {
    expect(await answered(text, way)).toMatchObject({ status: "ok", text: "x" });
  },
);

it.each(ways)(
  "an error over %s without a text is still the server's refusal, and keeps its code and data",
  async (way) => {
    const outcome = await answered(
      '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":null,"data":{"a":1}}}',
      way,
    );
    expect(outcome).toMatchObject({
      refusal: { code: "tool_failed", details: { rpc_error: { code: -32_603, data: { a: 1 } } } },
    });
    expect(outcome.text).toContain("the server gave an error without a text (code `-32603`)");
  },
);

it.each(ways)("an error over %s that is only a text is its message", async (way) => {
  const outcome = await answered('{"jsonrpc":"2.0","id":$ID,"error":"no such table"}', way);
  expect(outcome.text).toContain("Tool execution failed: no such table");
});

it("lines that are no messages, some with an error or an id of their own, end no call", async () => {
  const text = [
    "INFO starting",
    '{"level":"error","id":$ID,"error":"cache miss","msg":"retry"}',
    `{"jsonrpc":"2.0","id":99,${result}}`,
    '["not", "a", "message"]',
    `{"jsonrpc":"2.0","id":$ID,${result}}`,
  ].join("\n");
  expect(await answered(text, "pipes")).toMatchObject({ status: "ok", text: "x" });
});

it.each([202, 204])("HTTP %s without a body ends its call at once", async (status) => {
  const { url } = await rawHttp(({ method }, response) => {
    if (method !== "tools/call") return false;
    response.writeHead(status).end();
    return true;
  });
  const outcome = await (await open({ url }, "medium")).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({ refusal: { code: "outcome_unknown" } });
  expect(outcome.text).toContain(`the answer is empty (HTTP ${status})`);
});

it("reports a page for people, and an answer to another request, as such", async () => {
  const answers = [
    ["<html>", "text/html"],
    ['{"jsonrpc":"2.0","id":99,"result":{}}', "application/json"],
    ["", "application/json"],
  ];
  const { url } = await rawHttp(({ method }, response) => {
    if (method !== "tools/call") return false;
    const [body = "", type = ""] = answers.shift() ?? [];
    return reply(response, body, 200, { "content-type": type });
  });
  const runtime = await open({ url }, "safe");
  const call = async (): Promise<string> => (await runtime.invoke({ tool: "one__t" })).text;
  expect(await call()).toContain("answered with text/html, not with JSON");
  expect(await call()).toContain("has the `id` 99, the request has");
  expect(await call()).toContain("the answer is empty");
});
