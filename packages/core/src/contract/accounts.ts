import { z } from "zod";
import { roles } from "../roles.ts";
import { component, each, flag, name, optional, text, texts, when } from "./fields.ts";
import { route, type View } from "./route.ts";

export const account = component("Account", {
  ...each(text, "id", "name", "display_name", "tenant"),
  roles: texts,
  groups: texts,
  disabled: flag,
  signs_in: z.enum(["password", "openid", "link"]),
  created_at: when,
});
export type AccountAnswer = View<typeof account>;

/** Kept exactly as typed: a password is no name. */
export const password = z.string().min(1, "must not be empty").max(1024, "is longer than 1024 characters");
const accountRoles = z.array(z.enum(roles)).max(roles.length).describe("Roles.");
const about = optional({
  display_name: name.describe("The name that people read."),
  groups: z.array(name).max(64).describe("Groups: requests are routed to them."),
});

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
      roles: accountRoles,
      password: password.optional(),
    }),
    status: 201,
    answer: account,
  }),
  show: route("get", "/v1/accounts/{name}", "accounts:admin", { summary: "One person.", answer: account }),
  change: route("patch", "/v1/accounts/{name}", "accounts:admin", {
    summary: "Change roles, groups or name, or disable it: its sessions and tokens end at once.",
    body: z.strictObject({ ...about, ...optional({ roles: accountRoles, disabled: flag }) }),
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
    answer: component("SignInLink", { url: text, token: text, expires_at: when }),
    status: 201,
  }),
};

const token = component("ApiToken", {
  id: text,
  name: text,
  kind: z.enum(["agent", "person"]),
  owner: text,
  via: text.describe("By which credential of the owner it was made."),
  tenant: text,
  scopes: texts,
  permissions: texts,
  ...optional({ agent: text, user: text }),
  created_at: when,
  expires_at: when,
  ...optional({ revoked_at: when, last_used_at: when }),
});
const listedToken = token
  .extend({
    state: z.enum(["live", "over", "revoked", "dead"]),
    why: text.optional().describe("Why it is dead."),
    lost: texts.describe("Permissions that its owner has no more."),
  })
  .meta({ id: "ListedToken" });
export type ListedTokenAnswer = View<typeof listedToken>;

const longestTokenSeconds = 366 * 86_400;

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
      ...optional({
        scopes: z.array(name).max(256).describe("Scopes of tools that its calls may claim."),
        permissions: z.array(name).max(64).describe("What it may do. Default: all that its kind may have."),
        agent: name.describe("Who calls with it. Default: its name; `YOU/NAME` unless an admin makes it."),
        user: name.describe("On whose behalf it calls."),
        ttl_seconds: z.int().min(1).max(longestTokenSeconds).describe("How long it is good. Default: 90 days."),
      }),
    }),
    answer: z.object({ token: text, details: token }),
    status: 201,
  }),
  revoke: route("delete", "/v1/tokens/{id}", "tokens:own", {
    summary: "Revoke it: it is refused from the next request on.",
    answer: token,
  }),
};
