import { z } from "zod";
import {
  author,
  component,
  jsonObject,
  name,
  oneAction,
  optional,
  principal,
  reason,
  reasonFields,
  risk,
  search,
  text,
  texts,
  time,
  when,
  whole,
} from "./fields.ts";
import { route, type View } from "./route.ts";

const grantState = z.enum(["live", "over", "revoked", "void"]);

export const grant = component("Grant", {
  grant_id: text,
  status: grantState,
  silent: text.optional().describe("Why a live one answers nothing at present."),
  scope: z.object({ ...oneAction, arguments: jsonObject.optional() }),
  granted_to: principal,
  for: z.enum(["run", "session", "time"]),
  run_id: text.optional(),
  until: when,
  reason: text,
  ...author,
  approval_id: text,
  risk_level: risk,
  definition: text,
  answers: texts.describe("The rules whose question it answers."),
  uses: whole,
  last_used_at: when.optional(),
  revoked: z.object({ ...author, reason: text.optional() }).optional(),
});
export type GrantView = View<typeof grant>;

/** A decision that also answers later calls like this one. */
export const remember = z
  .strictObject({
    scope: z.strictObject(optional({ tool: name, action: name, arguments: jsonObject })).optional(),
    for: z.union([z.enum(["run", "session"]), z.strictObject({ until: time })]),
    reason,
  })
  .meta({ id: "Remember" });
export type RememberBody = View<typeof remember>;

export const grants = {
  list: route("get", "/v1/grants", "approvals:read", {
    summary: "Remembered approvals, new to old. An agent sees its own.",
    query: search({
      state: grantState.describe(
        "Only in this state; a grant is `void` when its tool is not the one it was given for.",
      ),
      tool: name.describe("Only for this tool."),
    }),
    answer: z.object({ grants: z.array(grant) }),
  }),
  revoke: route("post", "/v1/grants/{id}/revoke", "grants:write", {
    summary: "End a grant: from now on people are asked again.",
    body: reasonFields,
    answer: grant,
  }),
};
