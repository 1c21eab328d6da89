import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { CallEvent, CallRequest, ToolContext } from "../../src/index.ts";
import { settled } from "../fakes/clock.ts";
import { asker, boss, type House, house } from "../fakes/house.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

/** What came of one arrival: its ends are counted by its id, over everything that was announced. */
class Ends {
  readonly #ends = new Map<string, string[]>();
  readonly #left = new Map<string, number>();

  readonly watcher = (event: CallEvent): void => {
    if (event.moment === "ended") this.#ends.set(event.call.id, [...(this.#ends.get(event.call.id) ?? []), event.as]);
    if (event.moment === "left") this.#left.set(event.call.id, (this.#left.get(event.call.id) ?? 0) + 1);
  };

  expectOneEach(arrivals: number): void {
    expect(this.#left.size).toBe(arrivals);
    for (const [id, times] of this.#left) {
      expect(times).toBe(1);
      expect(this.#ends.get(id), id).toHaveLength(1);
    }
  }
}

async function watched(...args: Parameters<typeof house>): Promise<{ h: House; ends: Ends }> {
  const h = await house(...args);
  const ends = new Ends();
  h.runtime.watch(ends.watcher);
  return { h, ends };
}

function nested(depth: number): unknown {
  let value: unknown = "x";
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

const deepProxy = (): unknown => new Proxy({}, { get: (_target, name) => (name === "toJSON" ? undefined : deepProxy()), ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }) });

describe("arguments nobody should send", () => {
  const cycle: Record<string, unknown> = { z: 1, to: "x" };
  cycle["a"] = cycle;
  const refused: readonly (readonly [string, () => unknown])[] = [
    ["a cycle", () => cycle],
    ["a list", () => ["x"]],
    ["a text", () => "to=x"],
    ["null", () => null],
    ["a function", () => () => {}],
    ["a bigint", () => ({ to: 1n })],
    ["half a surrogate pair as value", () => ({ to: "\ud800" })],
    ["half a surrogate pair as name", () => ({ to: "x", "\udc00": 1 })],
    ["101 levels", () => ({ to: "x", deep: nested(101) })],
    ["100,000 levels", () => ({ to: "x", deep: nested(100_000) })],
    ["5,000 levels behind names out of order", () => ({ to: "x", deep: nested(5000) })],
    ["101 levels out of a toJSON", () => ({ to: "x", deep: { toJSON: () => nested(101) } })],
    ["a getter that throws", () => ({ get to(): string { throw new Error("no"); } })],
    ["a toJSON that throws", () => ({ to: { toJSON: () => { throw new Error("no"); } } })],
    ["a Proxy that throws at everything", () => new Proxy({}, { ownKeys: () => { throw new Error("no"); }, get: () => { throw new Error("no"); } })],
    ["a Proxy without end", deepProxy],
    ["a Proxy that was taken back", () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; }],
    ["what the schema does not want", () => ({ to: { to: "x" } })],
    ["nothing", () => undefined],
    ["not a number where JSON has null", () => ({ to: Number.NaN })],
  ];

  it.each(refused)("%s / a typed refusal, one event, and the next call works", async (_what, given) => {
    const { h, ends } = await watched();
    await using _h = h;
    const session = h.runtime.openSession({}, asker);
    const outcome = await session.invoke({ tool: "echo", arguments: given() as never });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "arguments_invalid", retry: "changed" } });
    expect(h.ran).toEqual([]);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect(session.trace).toHaveLength(2);
    ends.expectOneEach(2);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: 3 });
  });

  const taken: readonly (readonly [string, string])[] = [
    ["__proto__", '{"to":"x","__proto__":{"slow":true,"polluted":1}}'],
    ["constructor", '{"to":"x","constructor":{"prototype":{"polluted":1}}}'],
    ["prototype", '{"to":"x","prototype":{"polluted":1}}'],
    ["toString and valueOf", '{"to":"x","toString":1,"valueOf":2,"hasOwnProperty":3}'],
    ["then", '{"to":"x","then":1}'],
    ["toJSON", '{"to":"x","toJSON":"text"}'],
    ["length and indices", '{"0":"a","1":"b","10":"c","length":3,"to":"x"}'],
  ];

  it.each(taken)("the name %s / is a name like any other: nothing is polluted, the log tells it as it was", async (_name, text) => {
    const { h, ends } = await watched();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: "echo", arguments: JSON.parse(text) as never }, asker);
    expect(outcome.status).toBe("ok");
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect((h.ran[0] as { polluted?: number } | undefined)?.polluted).toBeUndefined();
    const again = await h.runtime.invoke({ tool: "echo", arguments: JSON.parse(text) as never }, { ...asker, idempotencyKey: "k" });
    expect(again.status).toBe("ok");
    const stored = await h.runtime.calls.get(again.callId);
    expect(JSON.parse(stored?.call.text ?? "")).toEqual(JSON.parse(text));
    ends.expectOneEach(2);
  });

  it("an object whose getter answers something else each time / shown, hashed and run are one reading", async () => {
    await using h = await house();
    let reads = 0;
    const given = { get to(): string { reads += 1; return `reading ${reads}`; } };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: given as never }, asker);
    const [open] = await h.runtime.approvals.list();
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    expect(h.ran).toEqual([open?.arguments]);
  });

  it("an object that is changed while a schema looks at it / the tool gets what was sent", async () => {
    const ran: unknown[] = [];
    const given = { to: "x" };
    const standard = {
      "~standard": {
        version: 1, vendor: "slow",
        validate: async (value: unknown) => { given.to = "evil"; await Promise.resolve(); return { value }; },
      },
    };
    await using h = await house({}, [{ name: "slow", description: "Slow to look.", risk: "safe", effects: "read", idempotent: true, input: standard as never, inputSchema: { type: "object" }, execute: (input: unknown) => { ran.push(input); return "ok"; } }]);
    expect((await h.runtime.invoke({ tool: "slow", arguments: given }, asker)).status).toBe("ok");
    expect(ran).toEqual([{ to: "x" }]);
  });

  it("a schema that throws, or answers nonsense / a typed end, nothing runs, the next call works", async () => {
    for (const validate of [() => { throw new Error("no"); }, () => null, () => "x", async () => { throw null; }, () => ({ issues: "many" })]) {
      const ran: unknown[] = [];
      const { h, ends } = await watched({}, [{ name: "odd", description: "Odd.", risk: "safe", effects: "read", idempotent: true, input: { "~standard": { version: 1, vendor: "odd", validate } } as never, inputSchema: { type: "object" }, execute: () => { ran.push(1); return "ok"; } }]);
      await using _h = h;
      expect((await h.runtime.invoke({ tool: "odd", arguments: {} }, asker)).status).toBe("error");
      expect(ran).toEqual([]);
      expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
      ends.expectOneEach(2);
    }
  });

  it("10 MB of text / runs, and the log's line stays small", async () => {
    await using h = await house();
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "x".repeat(10_000_000) } }, asker)).status).toBe("ok");
    for (const event of await h.runtime.audit.query({})) expect(JSON.stringify(event).length).toBeLessThan(4096);
  });
});

describe("names nobody should give", () => {
  const names: readonly (readonly [string, unknown])[] = [
    ["__proto__", "__proto__"], ["constructor", "constructor"], ["hasOwnProperty", "hasOwnProperty"],
    ["with NUL", "echo\0"], ["empty", ""], ["in capitals", "ECHO"], ["with a Cyrillic letter", "eсho"],
    ["fullwidth", "ｅcho"], ["turned round", "\u202eohce"], ["with a blank", "echo "], ["half a pair", "\ud800"],
    ["very long", "e".repeat(1_000_000)], ["a number", 7], ["an object", {}], ["null", null], ["a symbol", Symbol("echo")],
    ["an object that is text", { toString: () => "echo" }], ["a line break", "echo\n{}"],
  ];

  it.each(names)("of a tool, %s / unknown, one bounded event", async (_what, tool) => {
    const { h, ends } = await watched();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: tool as never, arguments: { to: "x" } }, asker);
    expect(outcome.refusal?.code).toBe("tool_unknown");
    expect(outcome.text.length).toBeLessThan(400);
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
    const [event] = await h.runtime.audit.query({});
    expect(JSON.stringify(event).length).toBeLessThan(2000);
  });

  it.each(names)("of an action, %s / unknown, one bounded event", async (_what, action) => {
    const { h, ends } = await watched();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: "echo", action: action as never, arguments: { to: "x" } }, asker);
    expect(outcome.refusal?.code).toBe("tool_unknown");
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
  });

  const contexts: readonly (readonly [string, object])[] = [
    ["a run id with a path", { runId: "../../etc" }], ["an empty run id", { runId: "" }], ["a run id with NUL", { runId: "a\0b" }],
    ["a run id with a line break", { runId: "run\n" }], ["a run id of 65", { runId: "r".repeat(65) }],
    ["a trace id in capitals", { traceId: "A".repeat(32) }], ["a short trace id", { traceId: "0" }],
    ["a task id with NUL", { taskId: "\0" }], ["a step id of half a pair", { stepId: "\ud800" }],
    ["a tenant with NUL", { principal: { tenant: "a\0b", agent: "c" } }], ["an empty agent", { principal: { tenant: "a", agent: "" } }],
    ["a user that is an object", { principal: { tenant: "a", agent: "b", user: {} } }], ["an agent of 201", { principal: { tenant: "a", agent: "b".repeat(201) } }],
    ["an empty key", { idempotencyKey: "" }], ["a key that is no text", { idempotencyKey: { toString: () => "k" } }], ["a key of half a pair", { idempotencyKey: "\ud800" }],
    ["a patience nobody knows", { patience: "forever" }], ["a patience every object has", { patience: "constructor" }],
    ["a deadline that is no number", { deadline: Number.NaN }], ["a deadline without end", { deadline: Number.POSITIVE_INFINITY }],
    ["a wait that is no number", { approvalWaitMs: Number.NaN }], ["a negative wait", { approvalWaitMs: -1 }], ["a wait that is text", { approvalWaitMs: "soon" }],
    ["a signal that is none", { signal: {} }],
  ];

  it.each(contexts)("%s / refused as context_invalid before anything is done, and the next call works", async (_what, context) => {
    await using h = await house();
    await expect(h.runtime.invoke(echo, { ...asker, ...context } as never)).rejects.toMatchObject({ name: "RuntimeFault", code: "context_invalid" });
    expect(h.ran).toEqual([]);
    expect(await h.runtime.calls.list()).toEqual([]);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
  });

  it("a caller's patience never widens what the runtime grants", async () => {
    await using h = await house({ approvals: {} });
    for (const patience of ["wait", "suspend", undefined] as const)
      expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, ...(patience && { patience }) })).refusal?.code).toBe("approval_unavailable");
    expect(await h.runtime.approvals.list()).toEqual([]);
  });

  it("a request that is none / rejected, and the next call works", async () => {
    await using h = await house();
    for (const request of [null, undefined, "echo", 7, { get tool(): string { throw new Error("no"); } }])
      await h.runtime.invoke(request as never as CallRequest, asker).then(
        (outcome) => expect(outcome.refusal?.code).toBe("tool_unknown"),
        (error: unknown) => expect(error).toBeInstanceOf(Error),
      );
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    await h.runtime.close();
  });
});

describe("a tool that misbehaves", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const settlesTwice = { then: (resolve: (value: string) => void, reject: (error: Error) => void) => { resolve("first"); resolve("second"); reject(new Error("third")); } };
  const answers: readonly (readonly [string, (context: ToolContext) => unknown, "ok" | "error"])[] = [
    ["throws a number", () => { throw 7; }, "error"],
    ["throws null", () => { throw null; }, "error"],
    ["throws an error whose message throws", () => { throw Object.defineProperty(new Error("x"), "message", { get: () => { throw new Error("y"); } }); }, "error"],
    ["throws a Proxy that throws", () => { throw new Proxy({}, { get: () => { throw new Error("no"); } }); }, "error"],
    ["throws a megabyte", () => { throw new Error("x".repeat(1_000_000)); }, "error"],
    ["rejects with undefined", () => Promise.reject(undefined), "error"],
    ["settles twice", () => settlesTwice, "ok"],
    ["has a then that throws", () => ({ then: () => { throw new Error("no"); } }), "error"],
    ["has a then that cannot be read", () => ({ get then(): never { throw new Error("no"); } }), "error"],
    ["never settles", () => new Promise(() => {}), "error"],
    ["has a then that never calls", () => ({ then: () => {} }), "error"],
    ["answers a cycle", () => cycle, "error"],
    ["answers a bigint", () => 1n, "error"],
    ["answers a function", () => () => {}, "error"],
    ["answers a symbol", () => Symbol("x"), "error"],
    ["answers a getter that throws", () => ({ get content(): never { throw new Error("no"); } }), "error"],
    ["answers a Proxy that throws", () => new Proxy({}, { get: (_target, name) => { if (name === "then") return undefined; throw new Error("no"); }, ownKeys: () => { throw new Error("no"); } }), "error"],
    ["answers 100,000 levels", () => ({ structured: nested(100_000) }), "error"],
    ["answers half a surrogate pair", () => "\ud800", "ok"],
    ["answers nothing", () => undefined, "ok"],
    ["answers content that is none", () => ({ content: "text" }), "ok"],
    ["answers blocks that are none", () => ({ content: [null, 7, { type: "text" }] }), "ok"],
    ["answers 100,000 blocks", () => ({ content: Array.from({ length: 100_000 }, () => ({ type: "text", text: "x".repeat(10) })) }), "ok"],
    ["pretends to have been suspended", () => ({ suspended: "image", approvalId: "apr_1" }), "ok"],
    ["changes what it was given", (context) => { for (const name of Object.keys(context.principal)) Reflect.set(context.principal, name, "evil"); return "x"; }, "ok"],
  ];

  it.each(answers)("%s / one bounded end, and the next call works", async (_what, execute, status) => {
    const { h, ends } = await watched({}, [{ name: "bad", description: "Misbehaves.", risk: "safe", effects: "read", idempotent: true, timeoutMs: 50, input: { type: "object" }, execute: (_given: unknown, context: ToolContext) => execute(context) }]);
    await using _h = h;
    const session = h.runtime.openSession({}, asker);
    const running = session.invoke({ tool: "bad", arguments: {} });
    await h.clock.advance(51);
    const outcome = await running;
    expect(outcome.status, outcome.text.slice(0, 200)).toBe(status);
    expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(8192);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect(session.trace).toHaveLength(2);
    ends.expectOneEach(2);
    const events = await h.runtime.audit.query({});
    expect(events.map(({ stage }) => stage)).toHaveLength(4);
    for (const event of events) {
      expect(JSON.stringify(event).length).toBeLessThan(8192);
      expect(event.principal).toMatchObject({ agent: "a" });
    }
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it.each(answers.filter(([, , status]) => status === "error"))("and has effects: %s / failed or unknown, never ok, never run again by itself", async (_what, execute) => {
    let runs = 0;
    const { h, ends } = await watched({ autonomy: "A4" }, [{ name: "bad", description: "Misbehaves.", risk: "high", effects: "write", idempotent: false, timeoutMs: 50, input: { type: "object" }, execute: (_given: unknown, context: ToolContext) => { runs += 1; return execute(context); } }]);
    await using _h = h;
    const keyed = { ...asker, idempotencyKey: "k" };
    const running = h.runtime.invoke({ tool: "bad", arguments: {} }, keyed);
    await h.clock.advance(51);
    expect((await running).status).toBe("error");
    expect((await h.runtime.invoke({ tool: "bad", arguments: {} }, keyed)).status).toBe("error");
    expect(runs).toBe(1);
    ends.expectOneEach(2);
  });

  it("goes on after its end / what it still says, calls or borrows is nobody's", async () => {
    let context: ToolContext | undefined;
    const progress: string[] = [];
    const { h, ends } = await watched({}, [{ name: "late", description: "Late.", risk: "safe", effects: "read", idempotent: true, input: { type: "object" }, execute: (_given: unknown, given: ToolContext) => { context = given; given.progress("in time"); return "done"; } }]);
    await using _h = h;
    await h.runtime.invoke({ tool: "late", arguments: {} }, { ...asker, onProgress: (content) => progress.push(content) });
    context?.progress("late");
    expect(() => context?.check()).toThrow();
    await expect(context?.call({ tool: "echo", arguments: { to: "x" } })).rejects.toThrow();
    await expect(context?.secrets.get("a", "b")).rejects.toThrow();
    expect(progress).toEqual(["in time"]);
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
  });

  it("answers with 200 MB / 4096 bytes and a reference; nothing of it stays in memory", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void; // what the flag makes
    const kept = async (): Promise<number> => {
      for (let turn = 0; turn < 3; turn += 1) {
        await settled();
        collect(); // what native code held is given back a turn after it was let go
      }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    await using h = await house({ folder: mkdtempSync(join(tmpdir(), "postern-huge-")) }, [
      { name: "huge", description: "Huge.", risk: "safe", effects: "read", idempotent: true, input: { type: "object" }, execute: () => "x".repeat(200_000_000) },
    ]);
    const before = await kept();
    await using session = h.runtime.openSession({}, asker);
    const outcome = await session.invoke({ tool: "huge", arguments: {} });
    expect(outcome.status).toBe("ok");
    expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(4096);
    expect(outcome.artifact).toMatch(/^[0-9a-f]{64}$/);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect((await kept()) - before).toBeLessThan(64 * 1024 * 1024);
  }, 60_000);
});

describe("watchers, hooks and progress that misbehave", () => {
  it("change nothing of the call", async () => {
    await using h = await house({ hooks: { onToolStart: () => { throw new Error("no"); }, onToolEnd: () => { throw null; } } as never });
    h.runtime.watch(() => { throw new Error("no"); });
    h.runtime.watch((() => Promise.reject(new Error("no"))) as never);
    h.runtime.watch((event) => { Reflect.set(event, "as", "failed"); });
    const outcome = await h.runtime.invoke(echo, { ...asker, onProgress: () => { throw new Error("no"); } });
    expect(outcome.status).toBe("ok");
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: 2 });
  });
});
