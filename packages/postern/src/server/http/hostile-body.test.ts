import { describe, expect, it } from "vitest";
import { corpus, jsonTexts } from "../../../../../test/fakes/corpus.ts";
import { httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { anOutcome, stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import type { CallRequest, Runtime } from "../../runtime/api/api.ts";

/** A runtime whose every tool says its arguments back. */
function echoing(): { readonly runtime: Runtime; readonly seen: CallRequest[] } {
  const seen: CallRequest[] = [];
  const invoke: Runtime["invoke"] = async (request) => {
    seen.push(request);
    return anOutcome({ structured: request.arguments ?? null });
  };
  return { runtime: { ...stubRuntime().runtime, invoke }, seen };
}

describe("a hostile body", () => {
  it.each([
    ["malformed JSON", '{"tool":', 400, "json_invalid"],
    ["a name given twice", '{"tool":"echo","tool":"drop"}', 400, "json_invalid"],
    ["`__proto__`", '{"tool":"echo","arguments":{"__proto__":{"admin":true}}}', 400, "json_invalid"],
    ["a number beyond 2^53", '{"tool":"echo","arguments":{"id":9007199254740993}}', 400, "json_invalid"],
    ["half a surrogate pair", '{"tool":"echo","arguments":{"a":"\\ud800"}}', 400, "json_invalid"],
    ["a byte order mark", '\ufeff{"tool":"echo"}', 400, "json_invalid"],
    ["a list", '["echo"]', 422, "request_invalid"],
    ["no tool", "{}", 422, "request_invalid"],
    ["an unknown field", '{"tool":"echo","principal":{"agent":"boss"}}', 422, "request_invalid"],
    ["NUL in the tool's name", '{"tool":"echo\\u0000"}', 422, "request_invalid"],
    ["a line break in the key", '{"tool":"echo","idempotency_key":"a\\nb"}', 422, "request_invalid"],
    ["a path as run", '{"tool":"echo","run_id":"../../etc"}', 422, "request_invalid"],
    ["a trace id of its own making", '{"tool":"echo","trace_id":"xyz"}', 422, "request_invalid"],
    ["an autonomy that is none", '{"tool":"echo","autonomy":"A9"}', 422, "request_invalid"],
    ["arguments that are a list", '{"tool":"echo","arguments":[1]}', 422, "request_invalid"],
    ["a wait that is not whole", '{"tool":"echo","approval_wait_ms":1.5}', 422, "request_invalid"],
  ])("is refused with a code and a sentence: %s", async (_, raw, status, code) => {
    const stub = stubRuntime();
    await using http = await httpFixture(stub.runtime);
    const response = await http.ask("/v1/calls", { as: "agent", raw });
    expect(await response.json()).toMatchObject({
      error: { code, message: expect.stringMatching(/.{10}/) },
    });
    expect(response.status).toBe(status);
    expect(stub.requests).toEqual([]);
  });

  it("names the field it does not know", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    const response = await http.ask("/v1/calls", {
      as: "agent",
      body: { tool: "echo", argumants: {} },
    });
    expect(await response.text()).toContain("unknown field `argumants`");
  });

  it("is refused when it is not UTF-8", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    const raw = new Uint8Array([...Buffer.from('{"tool":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    expect((await http.ask("/v1/calls", { as: "agent", raw })).status).toBe(400);
  });

  const suite = jsonTexts();
  it.skipIf(suite.length === 0)(
    "of JSONTestSuite is read as arguments or refused by a code, and the next call goes on",
    async () => {
      const { runtime } = echoing();
      await using http = await httpFixture(runtime);
      for (const row of suite) {
        const raw = new Uint8Array(
          Buffer.concat([Buffer.from('{"tool":"echo","arguments":{"it":'), row.bytes, Buffer.from("}}")]),
        );
        const response = await http.ask("/v1/calls", { as: "agent", raw });
        const isEither = row.expect === "i" || row.name.includes("duplicated_key");
        expect.soft(isEither ? [200, 400] : [row.expect === "y" ? 200 : 400], row.name).toContain(response.status);
        if (response.status === 400) expect(await response.json()).toMatchObject({ error: { code: "json_invalid" } });
      }
      expect((await http.ask("/v1/calls", { as: "agent", body: { tool: "echo" } })).status).toBe(200);
    },
  );

  const naughty = corpus<string>("naughty-strings/blns.dev.json");
  it.skipIf(naughty.length === 0)(
    "of naughty strings comes through byte for byte, as argument, as name of an argument and as reason",
    async () => {
      const { runtime, seen } = echoing();
      await using http = await httpFixture(runtime);
      for (const text of naughty) {
        const response = await http.ask("/v1/calls", {
          as: "agent",
          body: { tool: "echo", arguments: { it: text, [text]: 1 } },
        });
        if (text === "__proto__") continue;
        expect(await response.json(), text).toMatchObject({ structured: { it: text } });
        expect(seen.at(-1)?.arguments).toEqual(JSON.parse(JSON.stringify({ it: text, [text]: 1 })));
      }
      const stub = stubRuntime();
      await using other = await httpFixture(stub.runtime);
      for (const text of naughty) {
        await other.ask("/v1/approvals/apr_1/deny", { as: "operator", body: { reason: text } });
        expect(stub.requests.at(-1)?.[2]).toMatchObject({ reason: text });
      }
    },
  );

  it.skipIf(naughty.length === 0)(
    "of naughty strings as a tool's name reaches the runtime unchanged or is refused by a code, in the body and in the path",
    async () => {
      const { runtime, seen } = echoing();
      await using http = await httpFixture(runtime);
      for (const text of naughty) {
        const response = await http.ask("/v1/calls", { as: "agent", body: { tool: text } });
        if (response.status === 200) expect(seen.at(-1)?.tool).toBe(text);
        else expect([response.status, text === "" || text.length > 256 || /\p{Cc}/u.test(text)]).toEqual([422, true]);
        const path = await http.ask(`/v1/tools/${encodeURIComponent(text)}`, { as: "agent" });
        expect([200, 404, 422], text).toContain(path.status);
      }
    },
  );
});

describe("what is handed on to MCP", () => {
  it("carries who asks, the server of the path and the body as it came: the MCP server reads it", async () => {
    const got: unknown[] = [];
    await using http = await httpFixture(stubRuntime().runtime, {
      mcp: (exchange, by, path) => {
        got.push([
          exchange.method,
          by.kind,
          path,
          String(Buffer.from(exchange.body)),
          exchange.header("mcp-session-id") ?? null,
        ]);
        exchange.answer(202, {});
      },
    });
    await http.ask("/mcp/files", {
      as: "agent",
      body: { jsonrpc: "2.0" },
      headers: { "mcp-session-id": "s1" },
    });
    await http.ask("/mcp", { as: "operator" });
    expect(got).toEqual([
      ["POST", "agent", { server: "files" }, '{"jsonrpc":"2.0"}', "s1"],
      ["GET", "person", {}, "", null],
    ]);
  });

  it("is bounded like every body", async () => {
    await using http = await httpFixture(stubRuntime().runtime, {
      maxBodyBytes: 100,
      mcp: (exchange) => exchange.answer(200, {}, "{}"),
    });
    expect((await http.ask("/mcp", { as: "agent", raw: `"${"x".repeat(100)}"` })).status).toBe(413);
  });

  it("is refused without an MCP server", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    expect((await http.ask("/mcp", { as: "agent", body: {} })).status).toBe(501);
  });
});
