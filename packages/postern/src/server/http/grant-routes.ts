import { defined, toCamelCase } from "@postern/core";
import { type grant, grants, type Input, type RememberBody } from "@postern/core/contract";
import type { Grant, Remember } from "../../approvals/grant.ts";
import type { Conditions } from "../../policy/rules/condition.ts";
import { policyOpaque } from "../../policy/schema.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import { grantToWire } from "../wire.ts";
import { problem } from "./answers.ts";
import { deciderOf, sees } from "./caller.ts";
import { type Route, serve } from "./route.ts";

export const grantRoutes: readonly Route[] = serve(grants, {
  list: async ({ runtime, by, query }) => {
    const listed = runtime.approvals.grants.list({ tenant: by.principal.tenant, ...query });
    const seen = listed.filter(({ principal }) => sees(by, principal));
    return { grants: await Promise.all(seen.map((one) => shownTo(by, one, runtime))) };
  },
  revoke: async ({ runtime, by, part, body }) => {
    const known = runtime.approvals.grants.get(part("id"));
    if (known === undefined || !sees(by, known.principal)) return unknownGrant(part("id"));
    const revoked = await runtime.approvals.grants.revoke(part("id"), deciderOf(by), body.reason);
    return revoked === undefined ? unknownGrant(part("id")) : shownTo(by, revoked, runtime);
  },
});

/** An agent does not learn why a person's grant is silent. */
async function shownTo({ kind }: Who, one: Grant, { approvals }: Runtime): Promise<Input<typeof grant>> {
  const state = approvals.grants.stateOf(one);
  const silent = state === "live" ? await approvals.grants.problem(one) : undefined;
  return grantToWire(one, state, silent === undefined || kind === "person" ? silent : "it counts no more");
}

/** What a decision is to be remembered for. Its conditions are checked where they are compiled. */
export function rememberOf({ scope, for: span, reason }: RememberBody): Remember {
  if (scope === undefined) return { for: span, reason };
  const { tool, action, arguments: conditions } = scope;
  const inside = conditions && (toCamelCase(conditions, policyOpaque) as Conditions); // compileConditions judges it
  return { scope: defined({ tool, action, arguments: inside }), for: span, reason };
}

function unknownGrant(id: string): Response {
  return problem("grant_unknown", `There is no grant \`${id.slice(0, 200)}\`.`);
}
