import { z } from "@hono/zod-openapi";
import { jsonObject, name, principal, reason, reasonFields, risk, text, time, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const grantState = z.enum(["live", "over", "revoked", "void"]);

export const grant = z
  .object({
    grant_id: text,
    status: grantState,
    silent: text.optional().openapi({ description: "Why a live one answers nothing at present." }),
    scope: z.object({ tool: text, action: text, arguments: jsonObject.optional() }),
    granted_to: principal,
    for: z.enum(["run", "session", "time"]),
    run_id: text.optional(),
    until: when,
    reason: text,
    by: text,
    via: text,
    on_behalf_of: text.optional(),
    at: when,
    approval_id: text,
    risk_level: risk,
    definition: text,
    answers: z.array(text).openapi({ description: "The rules whose question it answers." }),
    uses: whole,
    last_used_at: when.optional(),
    revoked: z.object({ by: text, via: text, at: when, reason: text.optional() }).optional(),
  })
  .openapi("Grant");
export type GrantView = View<typeof grant>;

/** A decision that also answers later calls like this one. */
export const remember = z
  .strictObject({
    scope: z
      .strictObject({ tool: name.optional(), action: name.optional(), arguments: jsonObject.optional() })
      .optional(),
    for: z.union([z.enum(["run", "session"]), z.strictObject({ until: time })]),
    reason,
  })
  .openapi("Remember");
export type RememberBody = View<typeof remember>;

export const grants = {
  list: route("get", "/v1/grants", "approvals:read", {
    summary: "Remembered approvals, new to old. An agent sees its own.",
    query: z.strictObject({
      state: grantState
        .optional()
        .describe("Only in this state; a grant is `void` when its tool is not the one it was given for."),
      tool: name.optional().describe("Only for this tool."),
    }),
    answer: z.object({ grants: z.array(grant) }),
  }),
  revoke: route("post", "/v1/grants/{id}/revoke", "grants:write", {
    summary: "End a grant: from now on people are asked again.",
    body: reasonFields,
    answer: grant,
  }),
};

export const delegation = z
  .object({
    delegation_id: text,
    status: z.enum(["live", "over", "revoked"]),
    from: text,
    via: text.openapi({ description: "The credential it was given with." }),
    to: text,
    until: when,
    reason: text.optional(),
    at: when,
    revoked: z.object({ by: text, via: text.optional(), at: when }).optional(),
    ends: z.literal(true).optional().openapi({ description: "You may end it." }),
  })
  .openapi("Delegation");
export type DelegationView = View<typeof delegation>;

export const delegations = {
  list: route("get", "/v1/delegations", "delegations:end", {
    summary: "Who decides in whose place, new to old.",
    answer: z.object({ delegations: z.array(delegation) }),
  }),
  create: route("post", "/v1/delegations", "approvals:decide", {
    summary: "Let another person decide in your place, until a time.",
    body: z.strictObject({ to: name, until: time, ...reasonFields.shape }),
    answer: delegation,
  }),
  revoke: route("post", "/v1/delegations/{id}/revoke", "delegations:end", {
    summary: "End a delegation: by the person who gave it or has it, or by an administrator of accounts.",
    answer: delegation,
  }),
};
