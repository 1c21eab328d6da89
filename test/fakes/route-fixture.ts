/** People of an approval route, and the delegations between them. */

import type { ApprovalRoute, Decider, Delegation } from "../../src/approvals/index.ts";
import type { RuntimeOptions } from "../../src/index.ts";
import { cheap, holder } from "./people.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

const hourMs = 3_600_000;
export const cal: Decider = { user: "cal", via: "session:cal", tenant: "default", roles: ["approver"], signedIn: true };

/** A runtime where Ann, Bob and Cal have accounts; Ann and Bob are admins too, and Ann is in ops. */
export async function openRouted(route: ApprovalRoute, more: RuntimeOptions = {}): Promise<RuntimeFixture> {
  const h = await runtimeFixture({
    ...{ approvals: { patience: "suspend", routes: [route] }, accounts: { passwordCost: cheap } },
    ...more,
  });
  if (!h.runtime.accounts.exist)
    for (const name of ["ann", "bob", "cal"]) {
      const roles = name === "cal" ? ["approver" as const] : ["approver" as const, "admin" as const];
      await h.runtime.accounts.add({ name, roles, groups: name === "ann" ? ["ops"] : [] }, holder);
    }
  return h;
}

export async function delegate(h: RuntimeFixture, from: Decider, to: string): Promise<Delegation> {
  const made = await h.runtime.approvals.delegations.make({ to, until: h.clock.now() + hourMs }, from);
  if (!made.delegated) throw new Error(made.message);
  return made.delegation;
}
