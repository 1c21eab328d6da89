import { canonical, type DurableEvent, endEvents, type Json, type ToolCall, type ToolOutcome } from "@postern/core";
import { sha256 } from "@postern/core/system";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aCall, aWeighing as weighing } from "../../../../test/fakes/call.ts";
import { eventIn, serializeWith } from "./entry.ts";
import { Timestamps } from "./fields.ts";

const at = Date.UTC(2026, 10, 20, 12, 30, 15, 42);
const outcomeOf = (text: string, more: Partial<ToolOutcome> = {}): ToolOutcome =>
  ({
    status: "ok",
    callId: "call_1",
    content: [{ type: "text", text }],
    text,
    ...more,
  }) as ToolOutcome; // what is written is told from any shape
const serialize = serializeWith((text) => text.replaceAll("hunter2-hunter2", "[redacted]"));
const read = (event: DurableEvent): Record<string, Json> => ({ ...eventIn(serialize(event)) }) as Record<string, Json>; // a record of JSON
const ended = (
  as: keyof typeof endEvents,
  more: Partial<Extract<DurableEvent, { moment: "ended" }>> = {},
): DurableEvent => ({
  moment: "ended",
  at,
  call: aCall(),
  as,
  outcome: outcomeOf("done"),
  latencyMs: 1.23456,
  weighing,
  ...more,
});

describe("a stored event", () => {
  it("has a trace id, tenant, principal and policy version", () => {
    const call = aCall();
    const events: readonly DurableEvent[] = [
      { moment: "held", at, call, weighing, approvalId: "apr_1", expiresAt: at + 60_000 },
      { moment: "attempted", at, call, key: call.id, weighing },
      ...(Object.keys(endEvents) as (keyof typeof endEvents)[]).map((as) => ended(as)), // the table's own keys
    ];
    for (const event of events) {
      expect(read(event)).toMatchObject({
        trace_id: call.authority.traceId,
        tenant: "acme",
        principal: { agent: "writer" },
        policy_version: "p1",
        risk_level: "high",
        timestamp: "2026-11-20T12:30:15.042Z",
      });
    }
  });

  it("has its members in canonical order", () => {
    const call = aCall();
    const note = {
      at,
      type: "tools.changed",
      summary: "s",
      traceId: "t",
      by: "ann",
      outcome: "info",
      data: {},
    } as const;
    const events: readonly DurableEvent[] = [
      { moment: "held", at, call, weighing, approvalId: "apr_1", expiresAt: at + 60_000 },
      { moment: "decided", at, call, approvalId: "apr_1", as: "approved", by: "ann", via: "token", risk: "high" },
      { moment: "attempted", at, call, key: call.id, weighing },
      ended("refused"),
      { moment: "noted", ...note, policyVersion: "p1" },
    ];
    for (const event of events) {
      const text = serialize(event);
      expect(text).toBe(canonical(JSON.parse(text)));
    }
  });

  it("masks only what it writes", () => {
    const where = "a rule of its own";
    const looked: string[] = [];
    const clean = (text: string): string => {
      looked.push(text);
      return text;
    };
    const because = { ...weighing, reasons: [{ rule: "r1", effect: "ALLOW", where }] } as const;
    const write = serializeWith(clean);
    write(ended("refused", { weighing: because }));
    expect(looked).toContain(where);
    looked.length = 0;
    write(ended("succeeded", { weighing: because }));
    expect(looked).not.toContain(where);
  });

  it("names the approval request and its deadline", () => {
    const call = aCall();
    expect(read({ moment: "held", at, call, weighing, approvalId: "apr_1", expiresAt: at + 958 })).toEqual({
      action: "default",
      data: { expires_at: "2026-11-20T12:30:16.000Z" },
      outcome: "info",
      policy_version: "p1",
      principal: { agent: "writer" },
      reasons: weighing.reasons,
      refs: { approval: "apr_1", run: "run_1", tool_call: call.id },
      request_hash: call.digest,
      risk_level: "high",
      stage: "gate",
      summary: "echo needs a person",
      tenant: "acme",
      timestamp: "2026-11-20T12:30:15.042Z",
      tool_name: "echo",
      trace_id: call.authority.traceId,
      type: "gate.required",
      verdict: "CONFIRM",
    });
  });

  it.each([
    ["approved", "success"],
    ["modified", "success"],
    ["denied", "info"],
    ["skipped", "info"],
    ["expired", "info"],
    ["withdrawn", "info"],
  ] as const)("says gate.%s with outcome %s, at stage gate, and who decided (C30)", (as, outcome) => {
    const body = read({
      moment: "decided",
      at,
      call: aCall(),
      approvalId: "apr_1",
      as,
      by: "ann",
      via: "token:tok_1",
      reason: "why",
      risk: "high",
    });
    expect(body).toMatchObject({
      type: `gate.${as}`,
      outcome,
      stage: "gate",
      decided_by: "ann",
      decided_via: "token:tok_1",
      reason: "why",
      risk_level: "high",
    });
  });

  it("names the code of a refusal and its gate", () => {
    expect(read(ended("refused", { code: "scope_missing" }))).toMatchObject({
      type: "tool_call.refused",
      code: "scope_missing",
      stage: "verdict",
      outcome: "info",
      verdict: "CONFIRM",
    });
    expect(read(ended("refused", { code: "tool_unknown" }))).toMatchObject({
      stage: "lookup",
      summary: "echo refused: tool_unknown",
    });
    expect(read(ended("blocked", { code: "blocked" }))).toMatchObject({
      type: "gate.blocked",
      stage: "gate",
    });
  });

  it("holds the hash of a result, never arguments or text", () => {
    const call = { ...aCall(), arguments: { to: "argument-text" }, text: '{"to":"argument-text"}' };
    const text = serialize(ended("succeeded", { call, outcome: outcomeOf("result-text") }));
    expect(text).not.toMatch(/argument-text|result-text/);
    expect(eventIn(text)).toMatchObject({
      latency_ms: 1.235,
      response_hash: sha256("result-text"),
    });
  });

  it("hashes structured content and other blocks beside the text", () => {
    const image = { type: "image", mediaType: "image/png", data: "AA==" } as const;
    const hashes = [{}, { structured: { a: 1 } }, { content: [image] }, { content: [image], structured: { a: 1 } }].map(
      (more) => read(ended("succeeded", { outcome: outcomeOf("t", more) }))["response_hash"],
    );
    expect(new Set(hashes).size).toBe(4);
    expect(hashes[1]).toBe(sha256('{"structured":{"a":1},"text":"t"}'));
    expect(
      read(ended("succeeded", { outcome: outcomeOf("t", { structured: "\ud800" }) }))["response_hash"],
    ).toHaveLength(64);
  });

  it("masks known secrets in everything a person, a tool or a caller wrote", () => {
    const secret = "hunter2-hunter2";
    const call: ToolCall = { ...aCall({ tool: secret, runId: secret }), action: secret };
    const events: readonly DurableEvent[] = [
      {
        moment: "decided",
        at,
        call,
        approvalId: "apr_1",
        as: "denied",
        by: secret,
        via: `channel:${secret}`,
        reason: `no ${secret}`,
        risk: "high",
      },
      {
        moment: "attempted",
        at,
        call,
        key: call.id,
        weighing: { ...weighing, reasons: [{ rule: secret, effect: "ALLOW", where: secret }] },
      },
      ended("succeeded", { call }),
      ended("settled", { by: secret }),
      {
        moment: "noted",
        at,
        type: `mcp.${secret}`,
        summary: secret,
        traceId: "t",
        by: secret,
        policyVersion: secret,
        outcome: "info",
        data: { [secret]: [{ deep: secret }] },
      },
      {
        moment: "noted",
        at,
        type: "run.opened",
        summary: "",
        traceId: "t",
        principal: { tenant: secret, agent: secret, user: secret, via: secret },
        policyVersion: "p1",
        outcome: "info",
      },
    ];
    for (const event of events) expect(serialize(event)).not.toContain(secret);
  });

  const noted = {
    moment: "noted",
    at,
    type: "operator.action.pause",
    summary: "paused",
    traceId: "t1",
    policyVersion: "p1",
    outcome: "success",
  } as const;

  it("stores a system event under its own type, with the tenant `default`", () => {
    expect(serialize({ ...noted, by: "ann", data: { before: { b: 1, a: 2 } } })).toBe(
      '{"call":{"data":{"before":{"a":2,"b":1}},"decided_by":"ann","outcome":"success","refs":{},"stage":"operator","summary":"paused","timestamp":"2026-11-20T12:30:15.042Z","type":"operator.action.pause"},"context":{"policy_version":"p1","principal":{"agent":"operator","user":"ann"},"tenant":"default","trace_id":"t1"}}',
    );
  });

  it("has tenant, principal and policy version in every system event", () => {
    const agent = { tenant: "acme", agent: "bot", user: "ann", via: "token:agent" };
    expect(read({ ...noted, by: "ann", tenant: "acme" })).toMatchObject({
      tenant: "acme",
      principal: { agent: "operator", user: "ann" },
      policy_version: "p1",
    });
    expect(read({ ...noted, principal: agent })).toMatchObject({
      tenant: "acme",
      principal: { agent: "bot", user: "ann", via: "token:agent" },
      policy_version: "p1",
    });
    expect(read(noted)).toMatchObject({ tenant: "default", principal: { agent: "system" }, policy_version: "p1" });
  });

  it("writes malformed text and data that is too deep", () => {
    let data: Json = "bottom";
    for (let i = 0; i < 200; i += 1) data = [data];
    const body = read({
      moment: "noted",
      at,
      type: "x",
      summary: "half \ud83d",
      traceId: "t",
      policyVersion: "p1",
      outcome: "info",
      data,
    });
    expect(body["summary"]).toBe("half \ufffd");
    expect(JSON.stringify(body["data"])).toContain("[too deep]");
  });
});

it("writes a time as Date does, for every millisecond", async () => {
  const timestamps = new Timestamps();
  await fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 8e12 }), (ms) => {
      expect(timestamps.textOf(ms)).toBe(new Date(ms).toISOString());
      expect(timestamps.textOf(ms + 1)).toBe(new Date(ms + 1).toISOString());
    }),
  );
});
