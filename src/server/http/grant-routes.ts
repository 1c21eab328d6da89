import { type Delegation, mayEnd } from "../../approvals/delegations.ts";
import type { Grant, GrantState } from "../../approvals/grant.ts";
import { toSnakeCase } from "../../core/case.ts";
import type { JsonObject } from "../../core/json.ts";
import { policyOpaque } from "../../policy/schema.ts";
import type { Runtime } from "../../runtime/api.ts";
import { type delegation, delegations, type grant, grants } from "../contract/grants.ts";
import type { Input } from "../contract/route.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import { deciderOf } from "./decider.ts";
import { type Route, serve } from "./route.ts";
import { sees } from "./visible.ts";

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

export const delegationRoutes: readonly Route[] = serve(delegations, {
  list: ({ runtime, by }) => {
    const listed = runtime.approvals.delegations.list({ tenant: by.principal.tenant });
    return { delegations: listed.map((one) => shownDelegation(runtime.approvals, by, one)) };
  },
  create: async ({ runtime, accounts, by, body }) => {
    if (accounts?.exist === false) return problem("delegation_invalid", noAccounts(body.to));
    const made = await runtime.approvals.delegations.make(body, deciderOf(by));
    if (!made.delegated) return problem(made.code, made.message);
    return shownDelegation(runtime.approvals, by, made.delegation);
  },
  revoke: async ({ runtime, by, part }) => {
    const made = await runtime.approvals.delegations.revoke(part("id"), deciderOf(by));
    if (!made.delegated) return problem(made.code, made.message);
    return shownDelegation(runtime.approvals, by, made.delegation);
  },
});

/** Then the data folder's operator is the only one who decides here. */
function noAccounts(to: string): string {
  return `There is no account \`${to}\`, and no other: make one that may decide before you delegate to it (\`postern accounts add\`).`;
}

function shownDelegation(
  { delegations: known }: Runtime["approvals"],
  by: Who,
  { id, ...one }: Delegation,
): Input<typeof delegation> {
  const isLive = known.isLive({ id, ...one });
  const ends = isLive && by.permissions.has("delegations:end") && mayEnd({ id, ...one }, deciderOf(by));
  const status = isLive ? "live" : one.revoked === undefined ? "over" : "revoked";
  return { ...one, delegation_id: id, status, ...(ends && { ends }) };
}

/** An agent does not learn why a person's grant is silent. */
async function shownTo({ kind }: Who, one: Grant, { approvals }: Runtime): Promise<Input<typeof grant>> {
  const state = approvals.grants.stateOf(one);
  const silent = state === "live" ? await approvals.grants.silence(one) : undefined;
  return shownGrant(one, state, silent === undefined || kind === "person" ? silent : "it counts no more");
}

export function shownGrant(one: Grant, status: GrantState, silent?: string): Input<typeof grant> {
  const {
    id,
    tool,
    action,
    arguments: conditions,
    principal,
    runId,
    onBehalfOf,
    approvalId,
    risk,
    asks,
    lastUsedAt,
    ...rest
  } = one;
  return {
    ...rest,
    grant_id: id,
    status,
    silent,
    scope: { tool, action, arguments: conditions && (toSnakeCase(conditions, policyOpaque) as JsonObject) }, // conditions are plain JSON
    granted_to: principal,
    run_id: runId,
    on_behalf_of: onBehalfOf,
    approval_id: approvalId,
    risk_level: risk,
    answers: asks,
    last_used_at: lastUsedAt,
  };
}

function unknownGrant(id: string): Response {
  return problem("grant_unknown", `There is no grant \`${id.slice(0, 200)}\`.`);
}
