/** Every outcome of a script has its complete trace, however long it is and however the script ended. */
import { describe, expect, it } from "vitest";
import type { Json, JsonObject, RuntimeOptions, ToolOutcome } from "../../packages/postern/src/index.ts";
import { answerOf } from "../../packages/postern/src/mcp/server/answer.ts";
import { learnNamed } from "../../packages/postern/src/secrets/lend.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const longName = "a_server_with_a_long_name__a_tool_with_a_name_as_long_as_allowed";
const plainName = "read_a_file_of_a_project";
const calls = (count: number, name = longName): string =>
  `for (let n = 0; n < ${count}; n++) await call("${name}", { n })`;

async function open(options: RuntimeOptions = {}): Promise<RuntimeFixture> {
  const input = { type: "object", properties: { n: { type: "number" } } } as const;
  const safe = { risk: "safe", effects: "read", idempotent: true } as const;
  const tools = [longName, plainName].map((name) => {
    return { ...safe, name, description: "Does it.", input, execute: () => "done" };
  });
  return runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] }, ...options }, tools);
}

function structuredOf({ structured }: { readonly structured?: Json }): JsonObject {
  return structured as JsonObject; // a ChainRunResult
}

function rowsOf(value: { readonly structured?: Json }): readonly Json[] {
  return structuredOf(value)["call_trace"] as readonly Json[]; // it always has them
}

/** Returns the bytes of text and structured content, without the sentence that a server adds to a cut text. */
function toldBytes(outcome: ToolOutcome): number {
  const { structuredContent } = answerOf(outcome, "tool_chain");
  return Buffer.byteLength(outcome.text) + Buffer.byteLength(JSON.stringify(structuredContent));
}

describe("the trace of a script that made 45 calls", () => {
  const ends = {
    "ended well": { code: `${calls(45)}; return "fine";`, status: "ok" },
    failed: { code: `${calls(45)}; throw new Error("boom");`, status: "error" },
    "ran out of time": { code: `${calls(45)}; await new Promise(() => {});`, status: "timeout" },
    "spent more than its budget": { code: `for (;;) try { ${calls(60)} } catch {}`, status: "error" },
  } as const;

  it.each(Object.entries(ends))("has every one of them when the script %s", async (_how, { code, status }) => {
    await using h = await open();
    const running = h.runtime.runChain({ code, timeout: 5 }, asker);
    if (status === "timeout") {
      await expect.poll(async () => (await h.runtime.calls.list({ tool: longName })).length).toBe(45);
      await h.clock.advance(6_000);
    }
    const outcome = await running;
    expect(structuredOf(outcome)).toMatchObject({ status, tool_calls: rowsOf(outcome).length });
    expect(rowsOf(outcome).length).toBeGreaterThanOrEqual(45);
    expect(rowsOf(outcome)[44]).toMatchObject({
      tool: longName,
      status: "ok",
      args_digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(toldBytes(outcome)).toBeLessThanOrEqual(4096);
    expect(outcome.text).toMatch(/\[chain: \d+ tool calls in \d+ ms\]$/);
  });

  it("is complete for programs, short for agents, and kept complete", async () => {
    await using h = await open();
    const outcome = await h.runtime.runChain(
      { code: `${calls(45)}; print("p".repeat(9000)); return "o".repeat(9000);` },
      asker,
    );
    const { $artifact: digest, output_text: output, logs } = structuredOf(outcome);
    expect([String(output).length, String(logs).length]).toEqual([expect.any(Number), expect.any(Number)]);
    expect(rowsOf(outcome)).toHaveLength(45);
    const agents = structuredOf({ structured: answerOf(outcome, "tool_chain").structuredContent as Json });
    expect(agents).toMatchObject({ status: "ok", tool_calls: 45, $artifact: digest });
    const shown = rowsOf({ structured: agents });
    const { after, count, ended } = agents["call_trace_left_out"] as JsonObject;
    expect(shown.length + Number(count)).toBe(45);
    expect(Number(after)).toBe(Math.ceil(shown.length / 2));
    expect(ended).toEqual({ ok: 45 });
    const { bytes } = await h.runtime.artifacts.open(String(digest), asker.principal);
    const kept = structuredOf(JSON.parse(Buffer.from(bytes).toString()));
    expect(kept).toMatchObject({ output_text: "o".repeat(9000), logs: "p".repeat(9000) });
    expect(rowsOf({ structured: kept })).toEqual(rowsOf(outcome));
  });

  it("has all its rows over HTTP, also when it is read later", async () => {
    await using h = await open();
    await using http = await httpFixture(h.runtime);
    const body = { tool: "tool_chain", arguments: { code: `${calls(50)}; return "fine";` } };
    const made = (await (await http.ask("/v1/calls", { as: "agent", body })).json()) as {
      readonly call_id: string;
      readonly structured: Json;
    }; // as the route says
    expect(rowsOf(made)).toHaveLength(50);
    const record = await (await http.ask(`/v1/calls/${made.call_id}`, { as: "operator" })).json();
    expect(JSON.stringify(record).split('"args_digest"')).toHaveLength(51);
  });
});

describe("a script that printed 10 kB", () => {
  const prints = `${calls(2)}; for (let n = 0; n < 1500; n += 1) print("row " + n);`;
  const ends = {
    "and answered": {
      code: `${prints} return { answer: 42 };`,
      told: /row 1499\n\{"answer":42\}\n\[chain: 2 tool calls/,
    },
    "and failed": {
      code: `${prints} throw new Error("boom");`,
      told: /row 1499\nThe script failed: boom\nIt had called: \S+ ok, \S+ ok\.\n\[chain: 2 tool calls/,
    },
  } as const;

  it.each(Object.entries(ends))(
    "%s: a program, an HTTP client and an agent read that",
    async (_how, { code, told: expected }) => {
      await using h = await open();
      await using http = await httpFixture(h.runtime);
      const outcome = await h.runtime.runChain({ code }, asker);
      const body = { tool: "tool_chain", arguments: { code } };
      const wire = (await (await http.ask("/v1/calls", { as: "agent", body })).json()) as {
        readonly text: string;
        readonly structured: Json;
      }; // as the route says
      const [first] = answerOf(outcome, "tool_chain").content;
      for (const text of [outcome.text, wire.text, first?.type === "text" ? first.text : ""]) {
        expect(text).toMatch(expected);
        expect(text).toMatch(/^row 0\n/);
      }
      for (const one of [outcome, wire]) expect(rowsOf(one)).toHaveLength(2);
      expect(toldBytes(outcome)).toBeLessThanOrEqual(4096);
      const { bytes } = await h.runtime.artifacts.open(String(structuredOf(outcome)["$artifact"]), asker.principal);
      const kept = JSON.parse(Buffer.from(bytes).toString());
      const { logs } = kept.structured ?? kept;
      expect(logs.split("\n")).toHaveLength(1_500);
    },
  );
});

it("a short script's trace is complete, and appears once", async () => {
  await using h = await open();
  const outcome = await h.runtime.runChain({ code: `${calls(3)}; return "fine";` }, asker);
  expect(outcome.artifact).toBeUndefined();
  expect(answerOf(outcome, "tool_chain").structuredContent).toEqual(outcome.structured);
  expect(structuredOf(outcome)["call_trace_left_out"]).toBeUndefined();
});

it("a trace that an agent can read in short is not kept as an artifact", async () => {
  await using h = await open();
  await using http = await httpFixture(h.runtime);
  const code = `${calls(50, plainName)}; return "fine";`;
  const outcome = await h.runtime.runChain({ code }, asker);
  expect(Buffer.byteLength(JSON.stringify(outcome.structured))).toBeGreaterThan(4096);
  expect(outcome.artifact).toBeUndefined();
  expect(rowsOf(outcome)).toHaveLength(50);
  expect(rowsOf(outcome)[49]).toMatchObject({ tool: plainName, args_digest: expect.any(String) });
  const agents = structuredOf({ structured: answerOf(outcome, "tool_chain").structuredContent as Json });
  expect(rowsOf({ structured: agents })).toHaveLength(50);
  expect(rowsOf({ structured: agents })[49]).toEqual({ tool: plainName, status: "ok", line: 50 });
  expect(toldBytes(outcome)).toBeLessThanOrEqual(4096);
  const record = await (await http.ask(`/v1/calls/${outcome.callId}`, { as: "operator" })).json();
  expect(JSON.stringify(record).split('"args_digest"')).toHaveLength(51);
});

it("a trace that an agent cannot read in short is kept, whatever the inline limit of programs", async () => {
  await using h = await open({ limits: { maxInlineResultBytes: 6_000 } });
  const outcome = await h.runtime.runChain({ code: `${calls(50)}; return "fine";` }, asker);
  expect(outcome.artifact).toBeDefined();
  expect(rowsOf(outcome)).toHaveLength(50);
  expect(toldBytes(outcome)).toBeLessThanOrEqual(4096);
});

it("another tool's `call_trace` stays as it is", () => {
  const structured = { call_trace: Array.from({ length: 200 }, (_, n) => ({ n, args_digest: "d".repeat(20) })) };
  const outcome: ToolOutcome = { status: "ok", callId: "call_1", content: [], text: "", structured };
  expect(answerOf(outcome, "another").structuredContent).toEqual(structured);
});

it("a secret that a script prints is masked in the short answer too", async () => {
  const redactor = createRedactor();
  learnNamed(redactor, "top-secret-value-1234", "test/key");
  await using h = await open({ redactor });
  const outcome = await h.runtime.runChain(
    { code: `${calls(45)}; const told = "top-secret-" + "value-1234"; print(told); return told;` },
    asker,
  );
  expect(outcome.artifact).toBeDefined();
  expect(JSON.stringify([outcome, answerOf(outcome, "tool_chain")])).not.toContain("top-secret-value-1234");
});
