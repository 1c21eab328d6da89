import { expect, it } from "vitest";
import type { Clock } from "../../../src/calls/clock.ts";
import { createRuntime, defineTool } from "../../../src/index.ts";
import { asker, boss } from "../../fakes/house.ts";

/** Time that jumps in the middle of a turn, as it does between two lines of anybody's program. */
class JumpingClock implements Clock {
  #now = Date.UTC(2026, 10, 20);
  readonly #waits = new Map<() => void, number>();

  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#now;
  }
  in(ms: number, then: () => void): () => void {
    const wait = (): void => then();
    this.#waits.set(wait, this.#now + ms);
    return () => void this.#waits.delete(wait);
  }
  jump(ms: number): void {
    this.#now += ms;
    for (const [wait, due] of [...this.#waits]) {
      if (due > this.#now) continue;
      this.#waits.delete(wait);
      wait();
    }
  }
}

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

const races = 10_000;
const atOnce = 50;
/** Every row of words that one approval may get; `approved` alone may still be taken back. */
const lives = new Set(["approved", "denied", "skipped", "expired", "withdrawn", "approved withdrawn"]);

it("approve, deny, skip, withdraw, resume and expire 10,000 requests at once: one decision each, one execution of what stayed approved", async () => {
  const clock = new JumpingClock();
  const random = numbers(20_261_120);
  const ran = new Map<string, number>();
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { bill: { type: "string" } }, required: ["bill"] },
    execute: (given) => {
      const { bill } = given as { readonly bill: string }; // the schema says so
      ran.set(bill, (ran.get(bill) ?? 0) + 1);
      return "paid";
    },
  });
  await using runtime = await createRuntime({
    clock,
    tools: [pay],
    approvals: { patience: "suspend", ttlMs: 1000 },
    limits: { maxToolCalls: 1_000_000 },
  });
  const words = new Map<string, string[]>();
  runtime.watch((event) => {
    if (event.moment !== "decided") return;
    words.set(event.approvalId, [...(words.get(event.approvalId) ?? []), event.as]);
  });
  const seen = new Map<string, number>();

  for (let first = 0; first < races; first += atOnce) {
    const bills = Array.from({ length: atOnce }, (_, i) => `bill ${first + i}`);
    const ids = await Promise.all(
      bills.map(async (bill) => (await runtime.invoke({ tool: "pay", arguments: { bill } }, asker)).approvalId ?? ""),
    );
    const expires = random(2) === 0;
    const acts: (() => unknown)[] = ids.flatMap((id) => [
      () => runtime.approvals.decide(id, { decision: "approved", by: boss }),
      () =>
        runtime.approvals.decide(id, {
          decision: "denied",
          by: { user: "other", via: "token:other" },
        }),
      () =>
        runtime.approvals.decide(id, {
          decision: "skipped",
          by: { user: "third", via: "token:third" },
        }),
      () => runtime.approvals.withdraw(id, { user: "asker" }),
      () => runtime.resume(id),
    ]);
    if (expires) acts.push(() => clock.jump(1000));
    for (let i = acts.length - 1; i > 0; i -= 1) {
      const j = random(i + 1);
      [acts[i], acts[j]] = [acts[j] ?? (() => {}), acts[i] ?? (() => {})];
    }
    const doing: unknown[] = [];
    for (const act of acts) {
      doing.push(act());
      if (random(4) === 0) await Promise.resolve();
    }
    await Promise.all(doing);
    await new Promise<void>((resolve) => setImmediate(resolve)); // whatever expired by the jump is written
    for (const [i, id] of ids.entries()) {
      const outcome = await runtime.resume(id);
      const state = (await runtime.approvals.get(id))?.state ?? "lost";
      const life = (words.get(id) ?? []).join(" ");
      const times = ran.get(bills[i] ?? "") ?? 0;
      expect(lives, `${id} was decided as: ${life}`).toContain(life);
      expect(times, `${id} (${life}, ${state}) ran ${times} times`).toBe(state === "used" ? 1 : 0);
      const last = life.split(" ").at(-1);
      expect([last, ...(last === "approved" ? ["used", "expired"] : [])], `${id} was ${life}`).toContain(state);
      expect(outcome?.status === "ok").toBe(times === 1);
      seen.set(state, (seen.get(state) ?? 0) + 1);
    }
  }
  expect([...seen.keys()].sort()).toEqual(["denied", "expired", "skipped", "used", "withdrawn"]);
  expect(await runtime.audit.verify()).toMatchObject({ intact: true });
}, 60_000);
