import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import type { Delegation } from "../../approvals/delegations.ts";
import { mayEnd } from "../../approvals/delegations.ts";
import type { Grant, GrantState } from "../../approvals/grant.ts";
import type { Runtime } from "../../face.ts";
import type { Who } from "../credentials.ts";
import { type DelegationWire, delegationToWire, type GrantWire, grantToWire } from "../wire-grants.ts";
import { answer, problem } from "./answers.ts";
import { delegationAnswer, delegationsAnswer, grantAnswer, grantsAnswer } from "./approval-schemas.ts";
import { deciderOf } from "./decider.ts";
import { name, type ReasonFields, reason, reasonFields, time } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
import { sees } from "./visible.ts";

interface GrantQuery {
  readonly state?: GrantState | undefined;
  readonly tool?: string | undefined;
}

const grantQuery: ZodType<GrantQuery> = z.strictObject({
  state: z.enum(["live", "over", "revoked", "void"]).optional(),
  tool: name.optional(),
});

interface DelegationFields extends ReasonFields {
  readonly to: string;
  readonly until: number;
}

const delegationFields: ZodType<DelegationFields> = z.strictObject({
  to: name,
  until: time,
  reason: reason.optional(),
});

/** Remembered yeses, and who decides in whose place. */
export const grantRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/grants",
    needs: "approvals:read",
    summary: "Remembered yeses, new to old. An agent sees its own.",
    body: nothing,
    query: grantQuery,
    answers: grantsAnswer,
    run: async ({ runtime, by, query: { state, tool } }) => {
      const where = { ...(state !== undefined && { state }), ...(tool !== undefined && { tool }) };
      const grants = runtime.approvals.grants.list({ tenant: by.principal.tenant, ...where });
      const seen = grants.filter(({ principal }) => sees(by, principal));
      return answer({ grants: await Promise.all(seen.map((one) => wireOf(runtime, by, one))) });
    },
  }),
  route({
    method: "post",
    path: "/v1/grants/{id}/revoke",
    needs: "grants:write",
    summary: "End a grant: from now on people are asked again.",
    body: reasonFields,
    query: nothing,
    answers: grantAnswer,
    run: async ({ runtime, by, part, body }) => {
      const known = runtime.approvals.grants.get(part("id"));
      if (known === undefined || !sees(by, known.principal)) return unknownGrant(part("id"));
      const grant = await runtime.approvals.grants.revoke(part("id"), deciderOf(by), body.reason);
      return grant === undefined ? unknownGrant(part("id")) : answer(await wireOf(runtime, by, grant));
    },
  }),
  route({
    method: "get",
    path: "/v1/delegations",
    needs: "delegations:end",
    summary: "Who decides in whose place, new to old.",
    body: nothing,
    query: nothing,
    answers: delegationsAnswer,
    run: ({ runtime, by }) => {
      const listed = runtime.approvals.delegations.list({ tenant: by.principal.tenant });
      return answer({ delegations: listed.map((one) => told(runtime.approvals, by, one)) });
    },
  }),
  route({
    method: "post",
    path: "/v1/delegations",
    needs: "approvals:decide",
    summary: "Let somebody else decide in your place, until a time.",
    body: delegationFields,
    query: nothing,
    answers: delegationAnswer,
    run: async ({ runtime, accounts, by, body: { to, until, reason: given } }) => {
      if (accounts?.exist === false) return problem("delegation_invalid", noAccounts(to));
      const request = { to, until, ...(given !== undefined && { reason: given }) };
      const made = await runtime.approvals.delegations.make(request, deciderOf(by));
      return made.delegated ? answer(told(runtime.approvals, by, made.delegation)) : problem(made.code, made.message);
    },
  }),
  route({
    method: "post",
    path: "/v1/delegations/{id}/revoke",
    needs: "delegations:end",
    summary: "End a delegation: who gave it, who has it, or who administers accounts.",
    body: nothing,
    query: nothing,
    answers: delegationAnswer,
    run: async ({ runtime, by, part }) => {
      const made = await runtime.approvals.delegations.revoke(part("id"), deciderOf(by));
      if (!made.delegated) return problem(made.code, made.message);
      return answer(told(runtime.approvals, by, made.delegation));
    },
  }),
];

/** Then the data folder's operator is the only one who decides here. */
function noAccounts(to: string): string {
  return `There is no account \`${to}\`, and no other: make one that may decide before you delegate to it (\`postern accounts add\`).`;
}

function told({ delegations }: Runtime["approvals"], by: Who, one: Delegation): DelegationWire {
  const isLive = delegations.isLive(one);
  return delegationToWire(one, isLive, isLive && by.permissions.has("delegations:end") && mayEnd(one, deciderOf(by)));
}

/** What became of who gave it is nothing for an agent. */
async function wireOf({ approvals: { grants } }: Runtime, { kind }: Who, grant: Grant): Promise<GrantWire> {
  const state = grants.stateOf(grant);
  const silent = state === "live" ? await grants.silence(grant) : undefined;
  return grantToWire(grant, state, silent === undefined || kind === "person" ? silent : "it counts no more");
}

function unknownGrant(id: string): Response {
  return problem("grant_unknown", `There is no grant \`${id.slice(0, 200)}\`.`);
}
