import { expect, it } from "vitest";
import { shownDigestOf } from "../../fakes/deciders.ts";
import { numbers } from "../../fakes/jumping-clock.ts";
import { allAtOnce, raceFixture } from "../../fakes/racing.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { isWhole } from "../../fakes/share.ts";

const races = isWhole ? 3_000 : 300;
const atOnce = 50;
const persons = ["ann", "bob", "cal", "dan"] as const;
/** Every sequence of decisions that one request may get; an approved request may still be revoked. */
const lives = new Set([
  ...["approved", "modified", "denied", "skipped", "expired", "withdrawn"],
  ...["approved withdrawn", "approved revoked", "modified withdrawn", "modified revoked"],
]);

it(`${races} races of votes, edits and ends have one decision each, and two approvers if approved`, async () => {
  await using race = await raceFixture({
    patience: "suspend",
    ttlMs: 1000,
    routes: [{ quorum: 2, remindBeforeMs: 600 }],
  });
  const { runtime, clock, ran, decisions } = race;
  const random = numbers(20_261_121);
  const counts = new Map<string, number>();
  for (let first = 0; first < races; first += atOnce) {
    const bills = Array.from({ length: atOnce }, (_, i) => `bill ${first + i}`);
    const ids = await Promise.all(
      bills.map(async (bill) => (await runtime.invoke({ tool: "pay", arguments: { bill } }, asker)).approvalId ?? ""),
    );
    const jumps = random(3);
    const acts: (() => unknown)[] = ids.flatMap((id, i) => {
      const by = (user: string) => ({ user, via: `session:${user}` });
      const yes = persons
        .slice(0, 2 + random(3))
        .map((user) => () => runtime.approvals.decide(id, { decision: "approved", by: by(user) }));
      const edit = () =>
        runtime.approvals.decide(id, {
          decision: "modified",
          arguments: { bill: `${bills[i]} edited` },
          by: by("eve"),
        });
      const agree = async () =>
        runtime.approvals.decide(id, {
          decision: "approved",
          by: by("fay"),
          ...(await shownDigestOf({ runtime }, id)),
        });
      const all: (() => unknown)[] = [...yes, () => runtime.resume(id)];
      if (random(2) === 0) all.push(edit, agree);
      if (random(4) === 0) all.push(() => runtime.approvals.decide(id, { decision: "denied", by: by("gus") }));
      if (random(4) === 0) all.push(() => runtime.approvals.decide(id, { decision: "skipped", by: by("hal") }));
      if (random(6) === 0) all.push(() => runtime.approvals.withdraw(id, { user: "asker" }));
      if (random(6) === 0) all.push(() => runtime.approvals.revoke(id, by("ida")));
      return all;
    });
    if (jumps > 0) acts.push(() => clock.jump(jumps === 1 ? 500 : 1000));
    await allAtOnce(acts, random);
    for (const [i, id] of ids.entries()) {
      await runtime.resume(id);
      const record = await runtime.approvals.get(id);
      const life = (decisions.get(id) ?? []).join(" ");
      const times = (ran.get(bills[i] ?? "") ?? 0) + (ran.get(`${bills[i]} edited`) ?? 0);
      const yeses = (record?.votes ?? []).filter(({ as }) => as === "approved").map(({ by }) => by);
      const state = record?.state ?? "lost";
      if (life === "") expect(["pending", "expired"], `${id} was not decided`).toContain(state);
      else expect(lives, `${id} was decided as: ${life}`).toContain(life);
      expect(times, `${id} (${life}, ${state}) ran ${times} times`).toBe(state === "used" ? 1 : 0);
      expect(new Set(yeses).size, `${id}: ${yeses.join()}`).toBe(yeses.length);
      if (/^(?:approved|modified)/.test(life)) expect(yeses.length, `${id}: ${yeses.join()}`).toBeGreaterThanOrEqual(2);
      if (state === "used") expect(ran.get(String(record?.arguments["bill"]))).toBe(1);
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
  }
  expect([...counts.keys()]).toEqual(expect.arrayContaining(["denied", "expired", "skipped", "used", "withdrawn"]));
  expect(await runtime.audit.verify()).toMatchObject({ intact: true });
}, 120_000);
