import type { DurableEvent, ToolCall, Weighing } from "@postern/core";
import { beforeEach, describe, expect, it } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { aLogStore, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import type { AuditFilter } from "./log.ts";
import { queryEvents } from "./query.ts";
import { Times } from "./times.ts";

const start = Date.UTC(2026, 10, 20, 12);
const weighing: Weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "p" };
const outcome = { status: "ok", callId: "call_1", content: [], text: "" } as const;
let store = aLogStore(new FakeClock());
let at = start;

beforeEach(() => {
  store = aLogStore(new FakeClock());
  at = start;
});

async function tell(...events: readonly DurableEvent[]): Promise<void> {
  for (const event of events) await store.commit({ write: "note", event: { ...event, at: at++ } }, "committed");
}
const attempted = (call: ToolCall, key = call.id): DurableEvent => ({
  moment: "attempted",
  at,
  call,
  key,
  weighing,
});
const succeeded = (call: ToolCall): DurableEvent => ({
  moment: "ended",
  at,
  call,
  as: "succeeded",
  outcome,
  latencyMs: 1,
  weighing,
});
const traced = (number: number, traceId: string, tool = "echo"): ToolCall => {
  const call = aCall({ number, tool });
  return { ...call, authority: { ...call.authority, traceId } };
};
const asked = (over: Pick<Store, "events"> = store) => ({
  ...{ store: over, times: new Times(over), keyId: "ab12cd34", size: 1_000 },
});
const types = async (where: AuditFilter): Promise<readonly string[]> =>
  (await queryEvents(asked(), where)).map(({ type }) => type);
const numbers = async (where: AuditFilter): Promise<readonly number[]> =>
  (await queryEvents(asked(), where)).map(({ seq }) => seq);

describe("a query of the log", () => {
  it("finds events of several types, and events by one person", async () => {
    const noted = (type: string, by: string): DurableEvent => ({
      ...{ moment: "noted", at, type, summary: `"type":"grant.made" by ${by}`, traceId: "1".repeat(32), by },
      ...{ policyVersion: "p", outcome: "info" },
    });
    await tell(noted("approval.voted", "ann"), noted("alarm.tool_errors", "ann"), noted("grant.made", "bob"));
    await tell(attempted(traced(1, "1".repeat(32))));
    expect(await types({ type: ["approval.", "grant.made"] })).toEqual(["approval.voted", "grant.made"]);
    expect(await types({ type: ["approval.", "alarm."], by: "ann" })).toEqual(["approval.voted", "alarm.tool_errors"]);
    expect(await types({ by: "bob" })).toEqual(["grant.made"]);
    expect(await types({ type: [] })).toEqual([]);
  });

  it("finds two events of a safe call by its trace id", async () => {
    const [one, other] = [traced(1, "1".repeat(32)), traced(2, "2".repeat(32))];
    await tell(attempted(other), attempted(one), succeeded(one), succeeded(other));
    expect(await types({ traceId: "1".repeat(32) })).toEqual(["tool_call.attempted", "tool_call.succeeded"]);
  });

  it("finds the steps of an approved call under one trace id", async () => {
    const call = traced(1, "3".repeat(32));
    const approval = { call, approvalId: "apr_1", at };
    await tell(
      { moment: "held", ...approval, weighing, expiresAt: at + 60_000 },
      { moment: "decided", ...approval, as: "approved", by: "ann", via: "session:ann", risk: "medium" },
      attempted(call),
      succeeded(call),
    );
    expect(await types({ traceId: "3".repeat(32) })).toEqual([
      "gate.required",
      "gate.approved",
      "tool_call.attempted",
      "tool_call.succeeded",
    ]);
    expect(await types({ type: "gate." })).toEqual(["gate.required", "gate.approved"]);
    expect(await types({ type: "gate.approved" })).toEqual(["gate.approved"]);
    expect(await types({ type: "gate" })).toEqual([]);
  });

  it("gives each event its id and its number", async () => {
    await tell(attempted(aCall()), succeeded(aCall()));
    const events = await queryEvents(asked(), {});
    expect(events.map(({ audit_id, seq }) => [audit_id, seq])).toEqual([
      ["evt_ab12cd34_0", 0],
      ["evt_ab12cd34_1", 1],
    ]);
  });

  it("filters by tool, outcome, tenant, call and key", async () => {
    const [one, two, again] = [
      aCall({ number: 1, tool: "constructor" }),
      aCall({ number: 2, tool: "echo" }),
      aCall({ number: 3, tool: "echo" }),
    ];
    await tell(attempted(one), attempted(two), succeeded(one), attempted(again, two.id));
    expect(await numbers({ tool: "constructor" })).toEqual([0, 2]);
    expect(await numbers({ tool: "const" })).toEqual([]);
    expect(await numbers({ outcome: "success" })).toEqual([2]);
    expect(await numbers({ tenant: "acme" })).toHaveLength(4);
    expect(await numbers({ tenant: "other" })).toEqual([]);
    expect(await numbers({ callId: one.id })).toEqual([0, 2]);
    expect(await numbers({ callId: two.id })).toEqual([1, 3]);
    expect(await numbers({ callId: again.id, tool: "echo", outcome: "info", type: "tool_call." })).toEqual([3]);
  });

  it("skips entries that cannot be read", async () => {
    const parts = (refs: unknown, context?: unknown): string =>
      JSON.stringify({ call: { type: "run.opened", refs, timestamp: "2026-11-20" }, context });
    const bodies = ["no JSON", "null", parts(undefined, {}), parts(null, {}), parts("x", {}), parts({}), parts({}, {})];
    const changed = {
      async *events() {
        yield* bodies.map((body, seq) => ({ seq, body }));
      },
    };
    expect((await queryEvents(asked(changed), {})).map(({ seq }) => seq)).toEqual([6]);
  });

  it("is not misled by an event's data", async () => {
    const data = {
      type: "gate.required",
      trace_id: "x",
      nested: { tool_name: "echo", tenant: "acme", outcome: "success" },
    };
    await tell({
      moment: "noted",
      at,
      type: "mcp.connected",
      summary: '"tool_name":"echo"',
      traceId: "t",
      policyVersion: "p1",
      outcome: "info",
      data,
    });
    for (const where of [
      { type: "gate.required" },
      { type: "gate." },
      { traceId: "x" },
      { tool: "echo" },
      { tenant: "acme" },
      { outcome: "success" },
      { callId: "echo" },
    ]) {
      expect(await numbers(where), JSON.stringify(where)).toEqual([]);
    }
  });

  it("does not block calls while it reads a long log", async () => {
    await noteSome(store, 1000);
    let turns = 0;
    let reading = true;
    const turn = (): void => {
      turns += 1;
      if (reading) setImmediate(turn);
    };
    setImmediate(turn);
    expect(await numbers({ type: "none" })).toEqual([]);
    reading = false;
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  it("filters by time and page, old to new", async () => {
    for (let i = 0; i < 300; i += 1) await tell(attempted(aCall({ number: i })));
    expect(await numbers({})).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(await numbers({ after: 250, limit: 3 })).toEqual([251, 252, 253]);
    expect(await numbers({ after: 298 })).toEqual([299]);
    expect(await numbers({ limit: 0 })).toEqual([]);
    expect(await numbers({ since: start + 10, until: start + 12 })).toEqual([10, 11, 12]);
    expect(await numbers({ since: start + 298 })).toEqual([298, 299]);
    expect(await numbers({ until: start + 1 })).toEqual([0, 1]);
  });
});

describe("a filter", () => {
  it("treats a member that is undefined as missing", async () => {
    const where = { type: undefined, callId: ["call_1"], since: 0, limit: 3 };
    expect(await queryEvents(asked(), where as never)).toEqual([]);
  });

  it.each([
    [7, "The filter is 7"],
    [{ typ: "x" }, "`typ` is not a filter of events"],
    [{ type: 5 }, "`type` is 5; it must be a text"],
    [{ since: Number.NaN }, "`since` is NaN; it must be a number"],
    [{ callId: ["a", 1] }, "it must be an id or a list of ids"],
  ])("refuses %j: %s", async (where, message) => {
    await expect(queryEvents(asked(), where as never)).rejects.toThrow(message);
  });
});
