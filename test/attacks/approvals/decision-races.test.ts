import { expect, it } from "vitest";
import { numbers } from "../../fakes/jumping-clock.ts";
import { allAtOnce, raceFixture } from "../../fakes/racing.ts";
import { asker, boss } from "../../fakes/runtime-fixture.ts";
import { isWhole } from "../../fakes/share.ts";

const races = isWhole ? 10_000 : 1000;
const atOnce = 50;
/** Every sequence of decisions that one request may get; only an approved request may still be revoked. */
const lives = new Set(["approved", "denied", "skipped", "expired", "withdrawn", "approved withdrawn"]);

it(`${races} requests with all decisions racing have one decision each, and run only if approved`, async () => {
  await using race = await raceFixture({ patience: "suspend", ttlMs: 1000 });
  const { runtime, clock, ran, decisions } = race;
  const random = numbers(20_261_120);
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
    await allAtOnce(acts, random);
    for (const [i, id] of ids.entries()) {
      const outcome = await runtime.resume(id);
      const state = (await runtime.approvals.get(id))?.state ?? "lost";
      const life = (decisions.get(id) ?? []).join(" ");
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
}, 300_000);
