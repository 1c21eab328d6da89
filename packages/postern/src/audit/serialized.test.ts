import {
  canonical,
  type DurableEvent,
  deepFrozen,
  endEvents,
  type Json,
  type Risk,
  refusals,
  type ToolCall,
  type ToolOutcome,
  type Weighing,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aCall, aWeighing } from "../../../../test/fakes/call.ts";
import { eventIn, serializeWith } from "./entry.ts";

const clean = (text: string): string => text.replaceAll("hunter2-hunter2", "[redacted]").toWellFormed();
const serialize = serializeWith(clean);

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
          effect: fc.constantFrom("ALLOW", "DENY", "RAISE"),
          where: maybe(anyText),
        })
        .map(present),
      { maxLength: 3 },
    ),
    policyVersion: anyText,
    connector: maybe(anyText),
    grant: maybe(anyId),
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
    as: fc.constantFrom(...Object.keys(endEvents)),
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
const anyEvent = fc.oneof(anyAttempted, anyEnded) as fc.Arbitrary<DurableEvent>; // `present` loses the literals

describe("a call's events as text", () => {
  it("are canonical JSON", async () => {
    const same = fc.property(anyEvent, (event) => {
      const text = serialize(event);
      expect(serialize(event)).toBe(text);
      expect(canonical(JSON.parse(text))).toBe(text);
    });
    await fc.assert(same, { numRuns: 3000 });
  });

  it("are the same whether a part is kept from earlier events or made for each", async () => {
    const few = fc.tuple(
      fc.array(anyAuthority, { minLength: 1, maxLength: 2 }),
      fc.array(anyWeighing.map(deepFrozen), { minLength: 1, maxLength: 2 }),
      fc.array(anyEvent, { minLength: 1, maxLength: 4 }),
    );
    const steps = fc.array(fc.tuple(fc.nat(1), fc.nat(1), fc.nat(3), fc.constantFrom("a", "b"), fc.nat(15)));
    let times = 0;
    const same = fc.property(few, steps, ([authorities, weighings, events], taken) => {
      let secrets = ["hunter2-hunter2"];
      let asked = 0;
      const redact = (text: string): string => {
        asked += 1;
        return secrets.reduce((masked, secret) => masked.replaceAll(secret, "[redacted]"), text);
      };
      const keeping = serializeWith(redact, () => secrets.length);
      const fresh = serializeWith(redact);
      for (const [who, what, which, tool, learns] of taken) {
        if (learns === 0) secrets = [...secrets, `${authorities[0]?.runId}`].filter((secret) => secret !== "");
        const event = events[which % events.length];
        const authority = authorities[who % authorities.length];
        if (event === undefined || authority === undefined || !("call" in event)) continue;
        const weighing = weighings[what % weighings.length];
        const call = { ...event.call, tool, authority };
        const same = { ...event, call, ...("weighing" in event && { weighing }) } as DurableEvent; // only the members it has
        asked = 0;
        const text = keeping(same);
        const askedKeeping = asked;
        expect(text).toBe(fresh(same));
        if (askedKeeping < asked - askedKeeping) times += 1;
      }
    });
    await fc.assert(same, { numRuns: 1000 });
    expect(times).toBeGreaterThan(100); // else nothing was kept, and nothing compared
  });

  it("say what a policy decided that changes its one decision", () => {
    const keeping = serializeWith(clean, () => 0);
    const weighing = { ...aWeighing, risk: "high" as Risk };
    const event: DurableEvent = { moment: "attempted", at: 0, call: aCall(), key: aCall().id, weighing };
    expect(eventIn(keeping(event))?.risk_level).toBe("high");
    weighing.risk = "safe";
    expect(eventIn(keeping(event))?.risk_level).toBe("safe");
  });

  it("look for secrets again in a part that held one", () => {
    let found = 0;
    const redact = (text: string): string => {
      const masked = text.replaceAll("hunter2-hunter2", "[redacted]");
      if (masked !== text) found += 1;
      return masked;
    };
    const keeping = serializeWith(redact, () => 1);
    const call = aCall({ runId: "hunter2-hunter2" });
    const event: DurableEvent = { moment: "attempted", at: 0, call, key: call.id, weighing: deepFrozen(aWeighing) };
    for (let times = 1; times <= 3; times += 1) {
      keeping(event);
      expect(found).toBe(times);
    }
  });
});
