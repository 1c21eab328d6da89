import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../../packages/core/src/json.ts";
import type { ApprovalRecord, CallRecord } from "../../packages/core/src/records.ts";
import type { RuntimeSession } from "../../packages/postern/src/runtime/api/api.ts";
import { ArtifactFixture, hourMs, writer } from "../fakes/artifact-fixture.ts";
import { boss } from "../fakes/runtime-fixture.ts";
import { isWhole } from "../fakes/share.ts";

const n = fc.nat(2);
const key = fc.constantFrom(undefined, "k0", "k1");

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("read" as const), n, key, named: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("publish" as const), n, key, named: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("in session" as const), n }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end session" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("decide" as const),
      nth: fc.nat(5),
      as: fc.constantFrom("approved", "approved", "denied", "modified"),
      n,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("resume" as const), nth: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), hours: fc.constantFrom(0.5, 1, 3, 30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Makes random steps on a real runtime over files, and knows each artifact it received. */
class Player {
  readonly home: ArtifactFixture = new ArtifactFixture({
    approvals: { patience: "suspend", ttlMs: 4 * hourMs },
    results: { retentionDays: 0.1 },
  });
  readonly #known: string[] = [];
  #session: RuntimeSession | undefined;

  async play(one: Step): Promise<void> {
    const { runtime, clock } = this.home;
    switch (one.do) {
      case "read":
      case "publish":
        return this.#learn(
          await runtime.invoke(
            { tool: one.do, arguments: this.#arguments(one) },
            { ...writer, ...(one.key !== undefined && { idempotencyKey: one.key }) },
          ),
        );
      case "in session":
        this.#session ??= runtime.openSession({}, writer);
        return this.#learn(await this.#session.invoke({ tool: "read", arguments: { n: one.n } }));
      case "end session":
        await this.#session?.close();
        this.#session = undefined;
        return;
      case "decide": {
        const asked = await this.#nth("pending", one.nth);
        const edited = one.as === "modified" && { arguments: this.#arguments({ n: one.n, named: true }) };
        if (asked !== undefined)
          await runtime.approvals.decide(asked.id, { decision: one.as as "approved", by: boss, ...edited });
        return;
      }
      case "resume": {
        const asked = await this.#nth(undefined, one.nth);
        return this.#learn(asked && (await runtime.resume(asked.id)));
      }
      case "wait":
        return clock.advance(one.hours * hourMs);
      case "restart":
        this.#session = undefined;
        await this.home.close();
        return void (await this.home.open());
    }
  }

  /** Returns a report by number, or the content of the newest artifact. */
  #arguments({ n, named }: { readonly n: number; readonly named: boolean }): JsonObject {
    const newest = this.#known.at(-1);
    return named && newest !== undefined ? { text: { $artifact: newest } } : { n };
  }

  #learn(outcome: { readonly artifact?: string } | undefined): void {
    if (outcome?.artifact !== undefined) this.#known.push(outcome.artifact);
  }

  async #nth(state: ApprovalRecord["state"] | undefined, nth: number): Promise<ApprovalRecord | undefined> {
    const approvals = await this.home.runtime.approvals.list(state === undefined ? {} : { state });
    return approvals[nth % Math.max(1, approvals.length)];
  }

  /** Computes the needed artifacts from the lists that an operator reads, without the store's own index. */
  async needed(): Promise<ReadonlySet<string>> {
    const { runtime, clock } = this.home;
    const live = (at: number | undefined): boolean => at === undefined || at > clock.now();
    const runs = ({ state, aliveUntil }: CallRecord): boolean =>
      state === "attempted" || state === "unknown" || ((state === "held" || state === "denied") && live(aliveUntil));
    const answers = ({ state, key, call, approvalId }: CallRecord): boolean =>
      (state === "ok" || state === "failed") && (key !== call.id || approvalId !== undefined);
    const calls = (await runtime.calls.list()).filter((record) => runs(record) || answers(record));
    const approvals = (await runtime.approvals.list()).filter(
      ({ state, expiresAt }) => (state === "pending" || state === "approved") && live(expiresAt),
    );
    const output = JSON.stringify([calls.map(({ call, outcome }) => [call.arguments, outcome]), approvals]);
    return new Set(Array.from(output.matchAll(/"\$?artifact":"([0-9a-f]{64})"/g), ([, digest = ""]) => digest));
  }
}

it("a store never misses a referenced artifact and removes all others, after any history", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const player = new Player();
      await using home = player.home;
      await home.open();
      for (const one of steps) {
        await player.play(one);
        const missing = [...(await player.needed())].filter((digest) => !home.kept().includes(digest));
        expect(missing).toEqual([]);
      }
      await home.close();
      await home.clock.advance(3 * hourMs);
      const kept = await home.swept();
      expect(kept).toEqual([...(await player.needed())].sort());
    }),
    { numRuns: isWhole ? 60 : 12 },
  );
}, 120_000);
