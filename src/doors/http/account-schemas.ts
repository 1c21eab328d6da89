import { z } from "@hono/zod-openapi";
import { type Role, roles } from "../../accounts/roles.ts";
import { text, when } from "./answer-fields.ts";
import { name } from "./fields.ts";

const session = z.object({
  user: z.object({ id: text, name: text, display_name: text }),
  tenant: text,
  roles: z.array(text),
  groups: z.array(text),
  permissions: z.array(text),
  expires_at: when.nullable(),
  signed_in: z.boolean(),
  credential: z.enum(["agent-token", "operator-token", "api-token", "session"]),
});
const command = text.optional();
export const sessionAnswer: z.ZodType = session
  .extend({
    command: command.openapi({ description: "How commands are typed where Postern was started." }),
    last_event_id: text.optional().openapi({
      description: "For who may follow the events: what happens after this answer comes after this event.",
    }),
  })
  .openapi("Session");
export const signedInAnswer: z.ZodType = session
  .extend({
    csrf: text.openapi({ description: "For `x-postern-csrf`, with every request. Told here and never again." }),
  })
  .openapi("SignedIn");

export const waysAnswer: z.ZodType = z
  .object({ password: z.boolean(), openid: z.object({ name: text }).optional(), accounts: z.boolean(), command })
  .openapi("SignInWays");

export const accountAnswer: z.ZodType = z
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
export const accountsAnswer: z.ZodType = z.object({ accounts: z.array(accountAnswer) }).openapi("Accounts");
export const linkAnswer: z.ZodType = z.object({ url: text, token: text, expires_at: when }).openapi("SignInLink");

const token = z.object({
  id: text,
  name: text,
  kind: z.enum(["agent", "person"]),
  owner: text,
  via: text,
  tenant: text,
  scopes: z.array(text),
  permissions: z.array(text),
  agent: text.optional(),
  user: text.optional(),
  created_at: when,
  expires_at: when,
  revoked_at: when.optional(),
  last_used_at: when.optional(),
});
export const tokenAnswer: z.ZodType = token.openapi("ApiToken");
const listedToken = token
  .extend({ state: z.enum(["live", "over", "revoked", "dead"]), why: text.optional(), lost: z.array(text) })
  .openapi("ListedToken");
export const tokensAnswer: z.ZodType = z.object({ tokens: z.array(listedToken) }).openapi("ApiTokens");
export const newTokenAnswer: z.ZodType = z.object({ token: text, details: tokenAnswer }).openapi("NewApiToken");

/** Kept exactly as typed: a password is no name. */
const password = z.string().min(1, "must not be empty").max(1024, "is longer than 1024 characters");
const role: z.ZodType<Role> = z.enum(["viewer", "approver", "operator", "auditor", "admin"] satisfies typeof roles);
const people = {
  display_name: name.optional(),
  groups: z.array(name).max(64).optional(),
};

export interface SignInFields {
  readonly name: string;
  readonly password: string;
}
export const signInFields: z.ZodType<SignInFields> = z.strictObject({ name, password });

export interface LinkFields {
  readonly token: string;
}
export const linkFields: z.ZodType<LinkFields> = z.strictObject({ token: z.string().min(1).max(256) });

export interface PasswordFields {
  readonly password: string;
}
export const passwordFields: z.ZodType<PasswordFields> = z.strictObject({ password });

export interface OwnPasswordFields {
  readonly current: string;
  readonly password: string;
}
export const ownPasswordFields: z.ZodType<OwnPasswordFields> = z.strictObject({ current: password, password });

export interface NewAccountFields {
  readonly name: string;
  readonly display_name?: string | undefined;
  readonly tenant?: string | undefined;
  readonly roles: readonly Role[];
  readonly groups?: readonly string[] | undefined;
  readonly password?: string | undefined;
}
export const newAccountFields: z.ZodType<NewAccountFields> = z.strictObject({
  name,
  ...people,
  tenant: name.optional(),
  roles: z.array(role).max(roles.length),
  password: password.optional(),
});

export interface AccountFields {
  readonly display_name?: string | undefined;
  readonly roles?: readonly Role[] | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly disabled?: boolean | undefined;
}
export const accountFields: z.ZodType<AccountFields> = z.strictObject({
  ...people,
  roles: z.array(role).max(roles.length).optional(),
  disabled: z.boolean().optional(),
});

export interface NewTokenFields {
  readonly name: string;
  readonly kind: "agent" | "person";
  readonly scopes?: readonly string[] | undefined;
  readonly permissions?: readonly string[] | undefined;
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly ttl_seconds?: number | undefined;
}
export const newTokenFields: z.ZodType<NewTokenFields> = z.strictObject({
  name,
  kind: z.enum(["agent", "person"]),
  scopes: z.array(name).max(256).optional(),
  permissions: z.array(name).max(64).optional(),
  agent: name.optional(),
  user: name.optional(),
  ttl_seconds: z
    .number()
    .int()
    .min(1)
    .max(366 * 86_400)
    .optional(),
});
