import { describe, expect, it } from "vitest";
import type { ApprovalRoute, Decider } from "../../../packages/postern/src/approvals/index.ts";
import { ann, approve, ask, bob, mail } from "../../fakes/deciders.ts";
import { cal, openRouted } from "../../fakes/route-fixture.ts";
import { sqliteFiles } from "../../fakes/sqlite-files.ts";

const files = sqliteFiles();
let number = 0;

function freshStore(): string {
  number += 1;
  return `sqlite:${files.at(`${number}.db`)}`;
}

describe("a request made before the configuration changed", () => {
  it.each<readonly [string, boolean, boolean]>([
    ["once the route requires it", false, true],
    ["even if the route no longer requires it", true, false],
  ])("is not decided by the asking user, %s", async (_, before, after) => {
    const file = freshStore();
    const first = await openRouted({ name: "r", separateUser: before }, { store: file });
    const id = await ask(first);
    await first.runtime.close();
    await using h = await openRouted({ name: "r", separateUser: after }, { store: file });
    const self: Decider = { ...cal, user: "asker", via: "session:asker" };
    expect(await approve(h, id, self)).toMatchObject({ code: "decider_not_allowed" });
  });

  it("is not decided by people whose escalation was removed or changed", async () => {
    const file = freshStore();
    const to = { users: ["ann"] };
    const escalating = (name: string): ApprovalRoute => ({
      ...{ name: "r", to, escalateAfterMs: 1000, escalateTo: { users: [name] } },
    });
    const first = await openRouted(escalating("cal"), { store: file });
    const [one, two, three] = [await ask(first, mail("1")), await ask(first, mail("2")), await ask(first, mail("3"))];
    await first.clock.advance(1000);
    await first.runtime.close();
    for (const route of [{ name: "r", to }, escalating("bob")]) {
      await using h = await openRouted(route, { store: file });
      expect(await approve(h, one, cal)).toMatchObject({ code: "decider_not_allowed" });
      expect(await approve(h, one, bob)).toMatchObject({ code: "decider_not_allowed" });
    }
    await using same = await openRouted(escalating("cal"), { store: file });
    expect(await approve(same, one, cal)).toMatchObject({ approval: { state: "approved" } });
    await same.runtime.close();
    await using named = await openRouted({ name: "r", to: { users: ["cal"] } }, { store: file });
    expect(await approve(named, two, cal)).toMatchObject({ approval: { state: "approved" } });
    expect(await approve(named, three, ann)).toMatchObject({ code: "decider_not_allowed" });
  });
});
