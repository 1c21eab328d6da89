import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aCall, aWeighing as weighing } from "../../test/fakes/call.ts";
import type { ToolCall } from "../calls/call.ts";
import { type DurableEvent, endWords, type Weighing } from "../calls/event.ts";
import { canonical, type Json, sha256 } from "../calls/json.ts";
import type { ToolOutcome } from "../calls/outcome.ts";
import { refusals } from "../calls/refusals.ts";
import { spellPlainly, spellWith } from "./entry.ts";
import { Timestamps } from "./timestamps.ts";

const at = Date.UTC(2026, 10, 20, 12, 30, 15, 42);
const clean = (text: string): string => text.replaceAll("hunter2-hunter2", "[redacted]").toWellFormed();
const spellInParts = spellWith(clean);
/** The body, which its parts put together must be. */
const spell = (event: DurableEvent): string => {
  const spelled = spellInParts(event);
  if (typeof spelled === "string") return spelled;
  const { body, fragments, fields } = spelled;
  expect(fragments.map((fragment, i) => fragment + (fields[i] ?? "")).join("")).toBe(body);
  expect([fragments.length, fields.some((field) => field.includes("\n"))]).toEqual([fields.length + 1, false]);
  return body;
};
const plainly = (event: DurableEvent): string => spellPlainly(event, clean, new Timestamps());

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("\ud800", 'a"b\\c', "constructor", "__proto__", "hunter2-hunter2", "default", "\u2028", ""),
);
/** Ids, keys and digests are of our own making: any text, but never half a surrogate pair. */
const anyId = fc.oneof(
  anyText.filter((text) => text.isWellFormed()),
  fc.constant(aCall().id),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
/** The fields that are there, as `exactOptionalPropertyTypes` wants them. */
const present = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never; // only values left out

const anyAuthority = fc
  .record({
    principal: fc.record({ tenant: anyText, agent: anyText, user: maybe(anyText), via: maybe(anyText) }).map(present),
    scopes: fc.constant([]),
    autonomy: maybe(fc.constantFrom("A0", "A2", "A4" as const)),
    runId: anyText,
    traceId: anyText,
    taskId: maybe(anyText),
    stepId: maybe(anyText),
  })
  .map(present);
const anyCall = fc
  .record({
    id: anyId,
    number: fc.nat(),
    tool: anyText,
    action: anyText,
    arguments: fc.constant({}),
    text: fc.constant("{}"),
    digest: fc.oneof(anyId, fc.constant(sha256("{}"))),
    authority: anyAuthority,
    arrivedAt: fc.nat(),
    resumes: maybe(anyId),
    parentId: maybe(anyId),
  })
  .map(present) as fc.Arbitrary<ToolCall>; // `present` cannot say that the other fields stay
const anyWeighing: fc.Arbitrary<Weighing> = fc
  .record({
    verdict: fc.constantFrom("ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"),
    risk: fc.constantFrom("safe", "medium", "high", "critical"),
    reasons: fc.array(
      fc
        .record({
          rule: anyText,
          says: fc.constantFrom("ALLOW", "DENY", "RAISE"),
          where: maybe(anyText),
        })
        .map(present),
      { maxLength: 3 },
    ),
    policyVersion: anyText,
    connector: maybe(anyText),
  })
  .map(present);
const anyAt = fc.integer({ min: 0, max: 4e12 });
const anyOutcome = fc
  .record({
    status: fc.constant("ok" as const),
    callId: fc.constant("call_1"),
    content: fc.oneof(fc.constant([]), fc.constant([{ type: "image" as const, mediaType: "image/png", data: "AA==" }])),
    text: anyText,
    structured: maybe(fc.jsonValue() as fc.Arbitrary<Json>),
    artifact: maybe(anyId),
  })
  .map(present) as fc.Arbitrary<ToolOutcome>; // as above
const anyAttempted = fc
  .record({
    moment: fc.constant("attempted"),
    at: anyAt,
    call: anyCall,
    key: anyId,
    weighing: anyWeighing,
    approvalId: maybe(anyId),
  })
  .map(present);
const anyEnded = fc
  .record({
    moment: fc.constant("ended"),
    at: anyAt,
    call: anyCall,
    as: fc.constantFrom(...Object.keys(endWords)),
    outcome: anyOutcome,
    latencyMs: fc.oneof(
      fc.double(),
      fc.double({ min: 0, max: 1e6 }),
      fc.nat({ max: 10_000 }).map((us) => us / 1000),
    ),
    weighing: maybe(anyWeighing),
    code: maybe(fc.constantFrom(...Object.keys(refusals))),
    approvalId: maybe(anyId),
    by: maybe(anyText),
  })
  .map(present);
describe("an ordinary call's events, spelled from fragments", () => {
  it("are the text that is made of the whole object", async () => {
    const anyEvent = fc.oneof(anyAttempted, anyEnded) as fc.Arbitrary<DurableEvent>; // `present` loses the literals
    const same = fc.property(anyEvent, (event) => {
      const text = plainly(event);
      expect([spell(event), spell(event)]).toEqual([text, text]);
      expect(canonical(JSON.parse(text))).toBe(text);
    });
    await fc.assert(same, { numRuns: 3000 });
  });

  it("are so also for calls that share an authority or a weighing", () => {
    const { authority } = aCall();
    const weighings = [weighing, { ...weighing, verdict: "ALLOW" as const, policyVersion: "p2", connector: "files" }];
    for (let i = 0; i < 64; i += 1) {
      const call: ToolCall = {
        ...aCall({ number: i, tool: i & 1 ? "one" : "two" }),
        action: i & 2 ? "default" : "list",
        authority,
      };
      const shared = {
        at: at + i * 400,
        call,
        weighing: weighings[(i >> 2) & 1] ?? weighing,
        ...(i & 16 && { approvalId: "apr_1" }),
      };
      const events: readonly DurableEvent[] = [
        { moment: "attempted", key: i & 8 ? "k" : call.id, ...shared },
        {
          moment: "ended",
          as: i & 8 ? "failed" : "succeeded",
          outcome: { status: "ok", callId: call.id, content: [], text: "t" },
          latencyMs: i / 8,
          ...(i & 32 && { code: "tool_failed" as const }),
          ...shared,
        },
      ];
      for (const event of events) expect(spell(event)).toBe(plainly(event));
    }
  });

  it("are of the right tool also when an authority has seen very many", () => {
    const { authority } = aCall();
    for (let i = 0; i < 2100; i += 1) {
      const call = { ...aCall({ tool: `tool_${i}` }), authority };
      const event: DurableEvent = { moment: "attempted", at, call, key: call.id, weighing };
      expect(JSON.parse(spell(event))).toMatchObject({ tool_name: `tool_${i}` });
    }
  });

  it("are of the right run also when very many sessions of one call were seen", () => {
    const { authority } = aCall();
    for (let i = 0; i < 1100; i += 1) {
      const call = { ...aCall(), authority: { ...authority, runId: `run_${i}` } };
      const event: DurableEvent = { moment: "attempted", at, call, key: call.id, weighing };
      expect(spell(event)).toBe(plainly(event));
    }
  });
});
