import { z } from "@hono/zod-openapi";
import { roles } from "../../identity/roles.ts";
import { name, text, when } from "./fields.ts";
import { route, type View } from "./route.ts";

export const account = z
  .object({
    id: text,
    name: text,
    display_name: text,
    tenant: text,
    roles: z.array(text),
    groups: z.array(text),
    disabled: z.boolean(),
    signs_in: z.enum(["password", "openid", "link"]),
    created_at: when,
  })
  .openapi("Account");
export type AccountAnswer = View<typeof account>;

/** Kept exactly as typed: a password is no name. */
export const password = z.string().min(1, "must not be empty").max(1024, "is longer than 1024 characters");
const held = z.array(z.enum(roles)).max(roles.length).describe("Roles.");
const about = {
  display_name: name.optional().describe("The name that people read."),
  groups: z.array(name).max(64).optional().describe("Groups: requests are routed to them."),
};

export const accounts = {
  list: route("get", "/v1/accounts", "accounts:admin", {
    summary: "The people who can sign in.",
    answer: z.object({ accounts: z.array(account) }),
  }),
  add: route("post", "/v1/accounts", "accounts:admin", {
    summary: "Add one. Without a password it signs in by a link, or at the OpenID provider.",
    body: z.strictObject({
      name,
      ...about,
      tenant: name.optional().describe("Of which tenant."),
      roles: held,
      password: password.optional(),
    }),
    status: 201,
    answer: account,
  }),
  show: route("get", "/v1/accounts/{name}", "accounts:admin", { summary: "One person.", answer: account }),
  change: route("patch", "/v1/accounts/{name}", "accounts:admin", {
    summary: "Change roles, groups or name, or disable it: its sessions and tokens end at once.",
    body: z.strictObject({ ...about, roles: held.optional(), disabled: z.boolean().optional() }),
    answer: account,
  }),
  setPassword: route("put", "/v1/accounts/{name}/password", "accounts:admin", {
    summary: "Set its password: its sessions end.",
    body: z.strictObject({ password }),
    answer: account,
  }),
  signOut: route("post", "/v1/accounts/{name}/sign-out", "accounts:admin", {
    summary: "End every session of it.",
    answer: account,
  }),
  link: route("post", "/v1/accounts/{name}/link", "accounts:admin", {
    summary: "A link that signs in once, within ten minutes. `operator` gets one while there are no accounts.",
    answer: z.object({ url: text, token: text, expires_at: when }).openapi("SignInLink"),
    status: 201,
  }),
};

const token = z
  .object({
    id: text,
    name: text,
    kind: z.enum(["agent", "person"]),
    owner: text,
    via: text.openapi({ description: "By which credential of the owner it was made." }),
    tenant: text,
    scopes: z.array(text),
    permissions: z.array(text),
    agent: text.optional(),
    user: text.optional(),
    created_at: when,
    expires_at: when,
    revoked_at: when.optional(),
    last_used_at: when.optional(),
  })
  .openapi("ApiToken");
const listedToken = token
  .extend({
    state: z.enum(["live", "over", "revoked", "dead"]),
    why: text.optional().openapi({ description: "Why it is dead." }),
    lost: z.array(text).openapi({ description: "Permissions that its owner has no more." }),
  })
  .openapi("ListedToken");
export type ListedTokenAnswer = View<typeof listedToken>;

export const tokens = {
  list: route("get", "/v1/tokens", "tokens:own", {
    summary: "API tokens as they stand now: one's own; an admin's view is of all in its tenant.",
    answer: z.object({ tokens: z.array(listedToken) }),
  }),
  create: route("post", "/v1/tokens", "tokens:own", {
    summary:
      "Make one. Its text is in this answer and nowhere else. Its agent is `YOU/NAME`, unless an admin makes it.",
    body: z.strictObject({
      name,
      kind: z.enum(["agent", "person"]).describe("An agent may call; a person may decide and read."),
      scopes: z.array(name).max(256).optional().describe("Scopes of tools that its calls may claim."),
      permissions: z.array(name).max(64).optional().describe("What it may do. Default: all that its kind may have."),
      agent: name.optional().describe("Who calls with it. Default: its name; `YOU/NAME` unless an admin makes it."),
      user: name.optional().describe("On whose behalf it calls."),
      ttl_seconds: z
        .int()
        .min(1)
        .max(366 * 86_400)
        .optional()
        .describe("How long it is good. Default: 90 days."),
    }),
    answer: z.object({ token: text, details: token }),
    status: 201,
  }),
  revoke: route("delete", "/v1/tokens/{id}", "tokens:own", {
    summary: "Revoke it: it is refused from the next request on.",
    answer: token,
  }),
};
