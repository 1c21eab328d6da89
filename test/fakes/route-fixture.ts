/** People of an approval route. */

import type { ApprovalRoute, Decider } from "../../packages/postern/src/approvals/index.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { cheap, holder } from "./people.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

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
