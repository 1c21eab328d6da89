/** Calls with equal arguments: with keys they are several calls, without keys a re-send of one. */
import { describe, expect, it } from "vitest";
import type { CallContext, ToolOutcome } from "../../packages/postern/src/index.ts";
import { probe } from "../fakes/probe.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const mail = { tool: "mail", arguments: { to: "bob" } };
const keyed = (idempotencyKey: string): CallContext => ({ ...asker, idempotencyKey });
const decide = (h: RuntimeFixture, id: string | undefined, decision: "approved" | "denied") =>
  h.runtime.approvals.decide(id ?? "", { decision, by: boss });

describe.each(storeKinds)("a new idempotency key, with the same arguments, in %s", (kind) => {
  it("is a new call while the approval of the first one lives", async () => {
    await using h = await runtimeFixture({ store: newStore(kind) });
    for (const key of ["a", "b"]) {
      const { approvalId } = await h.runtime.invoke(mail, keyed(key));
      await decide(h, approvalId, "approved");
      const sent = await h.runtime.invoke(mail, keyed(key));
      expect(sent).toMatchObject({ status: "ok" });
      expect(sent.replayed).toBeUndefined();
    }
    expect(h.ran).toHaveLength(2);
    expect(await h.runtime.invoke(mail, keyed("a"))).toMatchObject({ status: "ok", replayed: true });
  });

  it("has a request and a denial of its own", async () => {
    await using h = await runtimeFixture({ store: newStore(kind) });
    const [a, b] = await Promise.all(["a", "b"].map((key) => h.runtime.invoke(mail, keyed(key))));
    expect(a?.approvalId).not.toBe(b?.approvalId);
    await decide(h, a?.approvalId, "denied");
    expect((await h.runtime.invoke(mail, keyed("a"))).refusal?.code).toBe("approval_denied");
    await decide(h, b?.approvalId, "approved");
    expect((await h.runtime.invoke(mail, keyed("b"))).status).toBe("ok");
    expect(h.ran).toHaveLength(1);
  });

  it("is not answered with a call that was sent without a key, nor the other way round", async () => {
    await using h = await runtimeFixture({ store: newStore(kind) });
    const contexts = [asker, keyed("a"), asker, keyed("b")];
    const asked: ToolOutcome[] = [];
    for (const context of contexts) asked.push(await h.runtime.invoke(mail, context));
    const [plain, first, again, second] = asked.map(({ approvalId }) => approvalId);
    expect(again).toBe(plain); // without a key it is the same call
    expect(new Set([plain, first, second]).size).toBe(3);
    await decide(h, first, "approved");
    await h.runtime.invoke(mail, keyed("a"));
    expect(await h.runtime.invoke(mail, asker)).toMatchObject({ status: "pending", approvalId: plain });
  });

  it("is not blocked by an `unknown` of another key; the same call without a key is", async () => {
    let runs = 0;
    const execute = (): string => {
      runs += 1;
      if (runs === 1) throw Object.assign(new Error("gone"), { unknown: true });
      return "sent";
    };
    const risky = probe({ risk: "high", effects: "write", idempotent: false, execute });
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, risky);
    const first = await h.runtime.invoke({ tool: "probe" }, keyed("a"));
    expect(first.refusal?.code).toBe("outcome_unknown");
    expect(await h.runtime.invoke({ tool: "probe" }, keyed("b"))).toMatchObject({ status: "ok", text: "sent" });
    for (const context of [keyed("a"), asker])
      expect((await h.runtime.invoke({ tool: "probe" }, context)).refusal?.code).toBe("outcome_unknown");
    await h.runtime.ledger.settle(first.callId, "failed", "it never came");
    expect((await h.runtime.invoke({ tool: "probe" }, asker)).status).toBe("ok");
    expect(runs).toBe(3);
  });

  it("may be asked about while another key's call is unknown", async () => {
    let runs = 0;
    const execute = (): string => {
      runs += 1;
      if (runs === 1) throw Object.assign(new Error("gone"), { unknown: true });
      return "sent";
    };
    await using h = await runtimeFixture(
      { store: newStore(kind) },
      probe({ risk: "high", effects: "write", idempotent: false, execute }),
    );
    for (const [key, code] of [["a", "outcome_unknown"] as const, ["b", undefined] as const]) {
      const { approvalId } = await h.runtime.invoke({ tool: "probe" }, keyed(key));
      await decide(h, approvalId, "approved");
      expect((await h.runtime.invoke({ tool: "probe" }, keyed(key))).refusal?.code).toBe(code);
    }
  });
});

/** A tool that runs until it is let go. */
function slow(more: Parameters<typeof probe>[0] = {}) {
  const running: (() => void)[] = [];
  const execute = (): Promise<string> => new Promise((resolve) => running.push(() => resolve("done")));
  const tools = probe({ risk: "medium", effects: "write", idempotent: false, execute, ...more });
  const letGo = (): void => {
    for (const go of running.splice(0)) go();
  };
  const begun = (count: number): Promise<void> => expect.poll(() => running.length).toBe(count);
  return { running, tools, letGo, begun };
}

describe.each(storeKinds)("a re-send without a key while the first call runs, in %s", (kind) => {
  it("gets `in_progress` from every session, and starts no second run", async () => {
    const { running, tools, letGo, begun } = slow();
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
    const session = h.runtime.openSession({}, asker);
    const first = session.invoke({ tool: "probe" });
    await begun(1);
    for (const from of [session, h.runtime.openSession({}, asker)]) {
      const again = await from.invoke({ tool: "probe" });
      expect(again).toMatchObject({ status: "error", refusal: { code: "in_progress" } });
      expect(again.text).toContain("without an idempotency key it would run a second time");
    }
    expect(running).toHaveLength(1);
    letGo();
    expect((await first).text).toBe("done");
    const after = session.invoke({ tool: "probe" }); // the first has ended: it is a call of its own
    await begun(1);
    letGo();
    expect(await after).toMatchObject({ status: "ok", text: "done" });
  });

  it("starts once when both are sent at once, also where the schema is checked beside the loop", async () => {
    const { running, tools, letGo } = slow({ input: { type: "object", properties: { a: { pattern: "^(a+)+$" } } } });
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
    const codes: string[] = [];
    const sent = [1, 2, 3].map(async () => {
      const { status, refusal } = await h.runtime.invoke({ tool: "probe", arguments: { a: "aa" } }, asker);
      codes.push(refusal?.code ?? status);
    });
    await expect.poll(() => codes.length + running.length).toBe(3);
    letGo();
    await Promise.all(sent);
    expect(codes).toEqual(["in_progress", "in_progress", "ok"]);
  });

  it("runs beside it when it is another principal's, another call's, or one with a key", async () => {
    const { tools, letGo, begun } = slow();
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
    const other = { principal: { tenant: "default", agent: "other" } };
    const first = h.runtime.invoke({ tool: "probe" }, asker);
    await begun(1);
    const sent = [
      first,
      h.runtime.invoke({ tool: "probe" }, other),
      h.runtime.invoke({ tool: "probe", arguments: { a: 1 } }, asker),
      h.runtime.invoke({ tool: "probe" }, keyed("a")),
      h.runtime.invoke({ tool: "probe" }, keyed("b")),
    ];
    await begun(5);
    letGo();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(5).fill("ok"));
  });

  it("gets `in_progress` when the first call has a key", async () => {
    const { tools, letGo, begun } = slow();
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
    const first = h.runtime.invoke({ tool: "probe" }, keyed("a"));
    await begun(1);
    const again = await h.runtime.invoke({ tool: "probe" }, asker);
    letGo();
    expect(again.refusal).toMatchObject({ code: "in_progress" });
    expect((await first).status).toBe("ok");
  });

  it("runs beside it when a second run does no harm", async () => {
    for (const more of [{ idempotent: true }, { effects: "read" }] as const) {
      const { tools, letGo, begun } = slow(more);
      await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
      const sent = [1, 2].map(() => h.runtime.invoke({ tool: "probe" }, asker));
      await begun(2);
      letGo();
      await Promise.all(sent);
    }
  });

  it("runs beside it in one batch, whether its calls run together or one by one", async () => {
    for (const concurrencySafe of [true, false]) {
      const { tools, letGo, begun } = slow({ concurrencySafe });
      await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
      await using session = h.runtime.openSession({}, asker);
      const batch = session.invokeAll([{ tool: "probe" }, { tool: "probe" }]);
      await begun(concurrencySafe ? 2 : 1);
      const resent = await session.invokeAll([{ tool: "probe" }]);
      expect(resent.map(({ refusal }) => refusal?.code)).toEqual(["in_progress"]);
      letGo();
      if (!concurrencySafe) await begun(1);
      letGo();
      expect((await batch).map(({ text }) => text)).toEqual(["done", "done"]);
    }
  });

  it("of a whole batch that asked goes on with each of its requests", async () => {
    await using h = await runtimeFixture({ store: newStore(kind) });
    await using session = h.runtime.openSession({}, asker);
    const asked = await session.invokeAll([mail, mail]);
    const ids = asked.map(({ approvalId }) => approvalId);
    expect(new Set(ids).size).toBe(2);
    const again = await session.invokeAll([mail, mail]);
    expect(again.map(({ approvalId }) => approvalId)).toEqual(ids);
    for (const id of ids) await decide(h, id, "approved");
    expect((await session.invokeAll([mail, mail])).map(({ status }) => status)).toEqual(["ok", "ok"]);
    expect(h.ran).toHaveLength(2);
    expect((await session.invokeAll([mail, mail])).map(({ replayed }) => replayed)).toEqual([true, true]);
    expect(h.ran).toHaveLength(2);
  });
});
