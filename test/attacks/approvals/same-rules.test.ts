import fc from "fast-check";
import { expect, it } from "vitest";
import type { ApprovalRoute, Decider, Role } from "../../../src/index.ts";
import { ann, ask, clerk, mail, yes } from "../../fakes/deciders.ts";
import { house } from "../../fakes/house.ts";
import { cheap, holder } from "../../fakes/people.ts";

const standing = fc.record({
  roles: fc.constantFrom<readonly Role[]>(["approver"], ["approver", "admin"]),
  groups: fc.constantFrom<readonly string[]>([], ["ops"]),
});
const route = fc.record({
  to: fc.constantFrom(
    {},
    { roles: ["admin"] },
    { groups: ["ops"] },
    { users: ["Ann", "x", "y"] },
    { users: ["cal", "x", "y"] },
  ),
  signedIn: fc.boolean(),
  typedConfirmation: fc.boolean(),
});
const everyRole = ["viewer", "approver", "operator", "auditor", "admin"];

it("a vote counts exactly while the same word, said now by who said it, would be taken on a request that is alike", async () => {
  let [counted, lapsed] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        route,
        before: fc.record({ ann: standing, cal: standing }),
        after: fc.record({ ann: standing, cal: standing }),
        voter: fc.constantFrom("ann", "cal"),
        isSession: fc.boolean(),
        isTyped: fc.boolean(),
        lender: fc.constantFrom("nobody", "ann", "ann's token", "operator"),
        isRevoked: fc.boolean(),
        accountsBefore: fc.boolean(),
      }),
      async (given) => {
        const quorum: ApprovalRoute = { ...given.route, quorum: 3 };
        await using h = await house({
          ...{ approvals: { patience: "suspend", routes: [quorum] }, accounts: { passwordCost: cheap } },
        });
        const { accounts, approvals } = h.runtime;
        const add = async (): Promise<void> => {
          for (const name of ["ann", "cal"] as const) await accounts.add({ name, ...given.before[name] }, holder);
        };
        const by = (when: "before" | "after", name: "ann" | "cal"): Decider => ({
          ...{ user: name, via: given.isSession ? `session:${name}` : `token:${name}`, tenant: "default" },
          ...{ signedIn: given.isSession, ...given[when][name] },
        });
        const lenders: Readonly<Record<string, Decider>> = {
          ann: { ...ann, ...given.before.ann },
          "ann's token": { ...ann, ...given.before.ann, via: "token:lent", signedIn: false },
          operator: { ...clerk, roles: everyRole },
        };
        if (given.accountsBefore) await add();
        const lender = lenders[given.lender];
        const until = h.clock.now() + 60_000;
        const lent = lender && (await approvals.delegations.make({ to: "cal", until }, lender));
        const voter = given.voter === "ann" ? "ann" : "cal";
        const typed = given.isTyped ? { confirmation: "mail" } : {};
        const [voted, twin] = [await ask(h, mail("1")), await ask(h, mail("2"))];
        fc.pre((await yes(h, voted, by("before", voter), typed)).decided);
        if (!given.accountsBefore) await add();
        for (const name of ["ann", "cal"] as const) await accounts.change(name, given.after[name], holder);
        if (given.isRevoked && lent?.delegated) await approvals.delegations.revoke(lent.delegation.id, ann);
        const record = await approvals.get(voted);
        const [told] = await approvals.standings(record === undefined ? [] : [record], clerk);
        const wasInPlace = record?.votes?.[0]?.onBehalfOf;
        const again = await yes(h, twin, by("after", voter), typed);
        const isTaken = again.decided && again.approval.votes?.[0]?.onBehalfOf === wasInPlace;
        if (isTaken) expect(told?.lapsed).toEqual([]);
        if (!again.decided) expect(told?.lapsed).toHaveLength(1);
        if (told?.lapsed.length === 0) counted += 1;
        else lapsed += 1;
      },
    ),
    { numRuns: 150 },
  );
  expect(Math.min(counted, lapsed)).toBeGreaterThan(10);
}, 60_000);
