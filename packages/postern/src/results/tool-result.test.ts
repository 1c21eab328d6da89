import {
  type CallStatus,
  type ContentBlock,
  type Json,
  type JsonObject,
  type RefusalCode,
  refusal,
  refusals,
  type ToolOutcome,
} from "@postern/core";
import fc from "fast-check";
import { expect, it } from "vitest";
import { asker, boss, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { createRuntime, defineTool, type Runtime } from "../index.ts";
import { describedBytes } from "./describe.ts";
import { toolResult } from "./tool-result.ts";

const orders = Array.from({ length: 1500 }, (_, id) => ({ id, customer: `customer ${id}`, total: id * 3 }));
const answers: Readonly<Record<string, unknown>> = {
  orders: { structured: orders },
  log: "a line of the log\n".repeat(60_000),
  small: { structured: { sent: true } },
  words: "sent to Ann",
  picture: { content: [{ type: "image", mediaType: "image/png", data: Buffer.alloc(70_000).toString("base64") }] },
  broken: { isError: true, content: "no such customer" },
  nothing: undefined,
};

async function office(): Promise<Runtime> {
  const tools = Object.entries(answers).map(([name, answer]) =>
    defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => answer }),
  );
  return createRuntime({ tools });
}

it("gives a large output as summary and artifact, and never the data (case 259)", async () => {
  await using runtime = await office();
  const outcome = await runtime.invoke({ tool: "orders" });
  const result = toolResult(outcome);
  expect(result).toMatchObject({
    ok: true,
    summary: "table, 3 columns (id, customer, total), 1500 rows",
    artifacts: [{ artifact: outcome.artifact }],
    error: null,
  });
  expect(result.data).toMatchObject({ $artifact: outcome.artifact, length: 1500 });
  expect(Object.keys(result)).toEqual(["ok", "summary", "data", "artifacts", "error"]);
  expect(JSON.stringify(result).length).toBeLessThan(1_000);
});

it("describes a megabyte of text in less than 512 bytes, for its line in tools.jsonl (case 188)", async () => {
  await using runtime = await office();
  const outcome = await runtime.invoke({ tool: "log" });
  const result = toolResult(outcome);
  expect(result.summary).toMatch(/^text, 60000 lines, (?:more than )?\d+ words, 1080000 bytes: a line of the log/);
  expect(Buffer.byteLength(result.summary)).toBeLessThan(512);
  expect(result).toMatchObject({ data: null, artifacts: [{ artifact: outcome.artifact }] });
});

it("says type and size of stored media", async () => {
  await using runtime = await office();
  const outcome = await runtime.invoke({ tool: "picture" });
  expect(toolResult(outcome)).toMatchObject({
    summary: "image/png, 70 kB",
    data: null,
    artifacts: [{ ...outcome.files?.[0] }],
  });
});

it("gives small data as they are", async () => {
  await using runtime = await office();
  const of = async (tool: string): Promise<unknown> => toolResult(await runtime.invoke({ tool }));
  expect(await of("small")).toMatchObject({ ok: true, summary: '{"sent":true}', data: { sent: true }, artifacts: [] });
  expect(await of("words")).toMatchObject({ ok: true, summary: "sent to Ann", data: "sent to Ann" });
  expect(await of("nothing")).toMatchObject({ ok: true, summary: "nothing", data: null });
});

it("tells an error by code, category and whether it may be tried again", async () => {
  await using runtime = await office();
  expect(toolResult(await runtime.invoke({ tool: "broken" }))).toEqual({
    ok: false,
    summary: "tool_failed: no such customer",
    data: null,
    artifacts: [],
    error: { code: "tool_failed", message: "no such customer", category: "tool", retryable: false, retry: "never" },
  });
  expect(toolResult(await runtime.invoke({ tool: "gone" }))).toMatchObject({
    ok: false,
    error: { code: "tool_unknown" },
  });
});

it("is a view of calls that wait, were denied, previewed or replayed as well", async () => {
  await using office = await runtimeFixture({ autonomy: "A2" });
  const mail = { tool: "mail", arguments: { to: "Ann" } };
  const pending = await office.runtime.invoke(mail, asker);
  expect(toolResult(pending)).toMatchObject({
    ok: false,
    summary: `waits for a person (${pending.approvalId})`,
    error: { code: "pending", category: "governance", retryable: true, details: { approval_id: pending.approvalId } },
  });
  await office.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
  expect(toolResult(await office.runtime.invoke(mail, asker))).toMatchObject({ ok: true, summary: "to Ann" });
  expect(toolResult(await office.runtime.invoke(mail, asker))).toMatchObject({ ok: true, summary: "replayed: to Ann" });
  const blocked = await office.runtime.invoke({ tool: "drop", arguments: { to: "all" } }, asker);
  expect(toolResult(blocked)).toMatchObject({ ok: false, error: { code: "blocked", category: "governance" } });
  const previewed = await office.runtime.invoke(
    { tool: "mail", arguments: { to: "Bob" } },
    { ...asker, autonomy: "A0" },
  );
  expect(toolResult(previewed)).toMatchObject({ ok: false, error: { code: "preview", retryable: false } });
});

it("cuts a message between code points", () => {
  for (let spaces = 990; spaces < 1_010; spaces += 1) {
    const refused = refusal("tool_failed", `${" ".repeat(spaces)}😀😀`);
    const outcome: ToolOutcome = { status: "error", callId: "call_1", content: [], text: "", refusal: refused };
    expect(toolResult(outcome).summary).not.toContain("\uFFFD");
  }
});

const text = fc.string({ unit: "binary", maxLength: 6_000 });
const codes = Object.keys(refusals) as RefusalCode[]; // the table's own keys
const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  text.map((said) => ({ type: "text" as const, text: said })),
  fc.record(
    { type: fc.constantFrom("image", "audio", "file"), mediaType: text, data: text, name: text },
    { requiredKeys: ["type", "mediaType"] },
  ),
  fc.record({ type: fc.constant("link"), uri: text }),
  fc.record({ type: fc.constant("resource"), uri: text }),
);
const anyOutcome: fc.Arbitrary<ToolOutcome> = fc.record(
  {
    status: fc.constantFrom<CallStatus>("ok", "error", "denied", "pending", "preview"),
    callId: fc.constant("call_1"),
    content: fc.array(block, { maxLength: 9 }),
    text,
    structured: fc.jsonValue() as fc.Arbitrary<Json>, // fast-check's own type for JSON
    artifact: text,
    approvalId: text,
    preview: fc.record({
      summary: text,
      details: fc.dictionary(text, text) as fc.Arbitrary<JsonObject>,
      supported: fc.boolean(),
    }),
    refusal: fc
      .record({ code: fc.constantFrom(...codes), message: text })
      .map(({ code, message }) => refusal(code, message)),
  },
  { requiredKeys: ["status", "callId", "content", "text"] },
) as fc.Arbitrary<ToolOutcome>; // shapes among them that no path makes

it("never throws and keeps summary and data small, for any outcome", async () => {
  await fc.assert(
    fc.property(anyOutcome, (outcome) => {
      const { ok, summary, data, error } = toolResult(outcome);
      expect(ok).toBe(outcome.status === "ok");
      expect(error === null).toBe(ok);
      expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(describedBytes);
      expect(summary.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(4098 * 6);
    }),
    { numRuns: 500 },
  );
});
