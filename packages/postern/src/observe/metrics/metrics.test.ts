import { describe, expect, it } from "vitest";
import { asker, boss, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { samplesIn } from "../../../../../test/fakes/samples.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { settled } from "../../../../core/src/testing/clock.ts";
import type { RuntimeOptions } from "../../index.ts";
import type { Store } from "../../store/store.ts";

const anything = { type: "object" } as const;
const files = sqliteFiles();

/** A runtime that counts, and its samples by name and labels. */
async function counting(options: RuntimeOptions = {}) {
  const fixture = await runtimeFixture({ metrics: true, ...options }, [
    {
      name: "fail",
      description: "Fails.",
      risk: "safe",
      idempotent: true,
      input: anything,
      execute: () => {
        throw new Error("no luck");
      },
    },
    {
      name: "vanish",
      description: "Ends in a way that is not known.",
      risk: "safe",
      effects: "write",
      idempotent: false,
      input: anything,
      timeoutMs: 50,
      execute: () => new Promise(() => {}),
    },
  ]);
  const samples = async (): Promise<ReadonlyMap<string, number>> => {
    await fixture.clock.advance(6_000); // later than the kept answer of the store
    return samplesIn((await fixture.runtime.metrics?.text()) ?? "");
  };
  return Object.assign(fixture, { samples });
}

const echo = { tool: "echo", arguments: { to: "ann" } };
const mail = { tool: "mail", arguments: { to: "ann" } };

describe("metrics of a runtime", () => {
  it("counts a call once, with its outcome, its credential and its time", async () => {
    await using h = await counting();
    await h.runtime.invoke(echo, asker);
    await h.runtime.invoke({ tool: "fail" }, asker);
    const now = await h.samples();
    expect(now.get('postern_calls_total{tool="echo",outcome="ok",via="token"}')).toBe(1);
    expect(now.get('postern_calls_total{tool="fail",outcome="error",via="token"}')).toBe(1);
    expect(now.get('postern_refusals_total{code="tool_failed"}')).toBe(1);
    expect(now.get('postern_call_seconds_count{tool="echo"}')).toBe(1);
    expect(now.get('postern_call_seconds_bucket{tool="echo",le="0.001"}')).toBe(1);
    expect(now.get('postern_call_seconds_bucket{tool="echo",le="+Inf"}')).toBe(1);
    expect(now.get("postern_log_size")).toBe(h.runtime.audit.size);
  });

  it("shows the requests that wait, until a person decides", async () => {
    await using h = await counting();
    const { approvalId = "" } = await h.runtime.invoke(mail, asker);
    const waiting = await h.samples();
    expect(waiting.get('postern_approvals_waiting{risk="high"}')).toBe(1);
    expect(waiting.get('postern_approvals_waiting{risk="safe"}')).toBe(0);
    expect(waiting.get("postern_approvals_oldest_seconds")).toBe(6);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    const decided = await h.samples();
    expect(decided.get('postern_approvals_waiting{risk="high"}')).toBe(0);
    expect(decided.get("postern_approvals_oldest_seconds")).toBe(0);
    expect(decided.get('postern_decisions_total{as="approved"}')).toBe(1);
    expect(decided.get('postern_call_seconds_count{tool="mail"}')).toBe(1);
  });

  it("shows the calls that are under way", async () => {
    await using h = await counting();
    const slow = h.runtime.invoke({ tool: "echo", arguments: { to: "ann", slow: true } }, asker);
    await settled();
    expect((await h.samples()).get("postern_budget_held")).toBe(1);
    await h.clock.advance(600_000);
    await slow;
    expect((await h.samples()).get("postern_budget_held")).toBe(0);
  });

  it("shows an unknown outcome until an operator settles it", async () => {
    await using h = await counting();
    const vanishing = h.runtime.invoke({ tool: "vanish" }, asker);
    await settled();
    await h.clock.advance(60_000);
    const { callId } = await vanishing;
    const unknown = await h.samples();
    expect(unknown.get("postern_outcomes_unknown")).toBe(1);
    expect(unknown.get('postern_calls_total{tool="vanish",outcome="unknown",via="token"}')).toBe(1);
    await h.runtime.ledger.settle(callId, "succeeded", "seen", { by: "boss", via: "token:operator" });
    expect((await h.samples()).get("postern_outcomes_unknown")).toBe(0);
  });

  it("shows the file, its commits and its conflicts", async () => {
    await using h = await counting({ store: (context) => files.openAt("sizes.db", context) });
    const before = await h.samples();
    expect(before.get('postern_store_bytes{kind="database"}')).toBeGreaterThan(4_096);
    expect(before.get('postern_store_bytes{kind="write_ahead_log"}')).toBeGreaterThan(0);
    await h.runtime.invoke(mail, asker);
    const { approvals } = h.runtime;
    const [request] = await approvals.list();
    await approvals.decide(request?.id ?? "", { decision: "denied", by: boss });
    const after = await h.samples();
    const commits = "postern_store_commit_seconds_count";
    expect(after.get(commits)).toBeGreaterThan(before.get(commits) ?? 0);
    expect(after.get("postern_store_lost_total")).toBe(0);
  });

  it("shows the age of the last checked backup, and nothing if there was none", async () => {
    await using h = await counting({ store: (context) => files.openAt("backup.db", context) });
    expect((await h.samples()).has("postern_backup_age_seconds")).toBe(false);
    await h.runtime.storage.backupChecked(h.clock.now(), { by: "boss", via: "token:operator" });
    expect((await h.samples()).get("postern_backup_age_seconds")).toBe(6);
  });

  it("shows the other metrics when the store cannot be read, and says so once", async () => {
    const log: string[] = [];
    let store: Store | undefined;
    await using h = await counting({
      log: (problem) => log.push(problem),
      store: (context) => (store = files.openAt("unreadable.db", context)),
    });
    await h.runtime.invoke(echo, asker);
    const unreadable = async (): Promise<never> => Promise.reject(new Error("no such disk"));
    Object.defineProperty(store, "measures", { get: () => ({ conflicts: 0, bytes: unreadable }) });
    const [one] = [await h.samples(), await h.samples()];
    expect(one.has("postern_outcomes_unknown")).toBe(false);
    expect(one.get('postern_calls_total{tool="echo",outcome="ok",via="token"}')).toBe(1);
    expect(log.filter((line) => line.includes("no such disk"))).toHaveLength(1);
  });

  it("asks the store once, however many scrape within five seconds", async () => {
    let asked = 0;
    await using h = await counting({
      store: (context) => {
        const store = files.openAt("asked.db", context);
        const counts = store.counts.bind(store);
        store.counts = (where) => {
          asked += 1;
          return counts(where);
        };
        return store;
      },
    });
    for (let scrape = 0; scrape < 10; scrape += 1) await h.runtime.metrics?.text();
    expect(asked).toBe(1);
    await h.samples();
    expect(asked).toBe(2);
  });

  it("is not there unless it is asked for", async () => {
    await using h = await runtimeFixture();
    expect(h.runtime.metrics).toBeUndefined();
  });
});
