/** The `accounts` section of a configuration file (snake_case) and what it becomes. Only src/config imports this. */
import { z } from "zod";
import { isLoopback, type OpenIdSettings } from "./openid.ts";
import type { Role, roles } from "./roles.ts";
import type { SessionLimits } from "./session-book.ts";

export interface OpenIdFile {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  readonly label?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly name_claim?: string | undefined;
  readonly roles_claim?: string | undefined;
  readonly roles?: Readonly<Record<string, readonly Role[]>> | undefined;
  readonly default_roles?: readonly Role[] | undefined;
  readonly groups_claim?: string | undefined;
  readonly allowed_domains?: readonly string[] | undefined;
  readonly unknown?: "refuse" | "create" | undefined;
  readonly tenant?: string | undefined;
}

export interface AccountsFile {
  readonly session?:
    | { readonly idle_minutes?: number | undefined; readonly absolute_hours?: number | undefined }
    | undefined;
  readonly openid?: OpenIdFile | undefined;
}

const text = z.string().min(1);
const role = z.enum(["viewer", "approver", "operator", "auditor", "admin"] satisfies typeof roles);

const openId: z.ZodType<OpenIdFile> = z.strictObject({
  issuer: z
    .url()
    .refine((url) => url.startsWith("https://") || isLoopback(url), "Write `https://…`; without TLS only on loopback.")
    .describe("The provider; its `/.well-known/openid-configuration` says the rest."),
  client_id: text,
  client_secret: z
    .string()
    .regex(
      /^secret:\/\/[\w.-]+\/[\w.-]+$/,
      "Write `secret://connector/key`, and keep the value with `postern secrets set`.",
    )
    .optional()
    .describe("`secret://connector/key`; none for a public client. PKCE is always used."),
  label: text.max(60).optional().describe("What the console's button says; the issuer's host when nothing is said."),
  scopes: z.array(text).optional().describe("[openid, profile, email] when nothing is said."),
  name_claim: text
    .optional()
    .describe(
      "The claim that is the login name; the verified e-mail address, else preferred_username, when nothing is said.",
    ),
  roles_claim: text.optional().describe("The claim whose values `roles` maps. Roles then follow it at every sign-in."),
  roles: z.record(text, z.array(role)).optional().describe("Which roles a value of `roles_claim` gives."),
  default_roles: z.array(role).optional().describe("Of everybody who signs in here; [viewer] when nothing is said."),
  groups_claim: text.optional().describe("The claim whose values are the groups of a person."),
  allowed_domains: z.array(text).min(1).optional().describe("Of verified e-mail addresses; nobody else gets in."),
  unknown: z
    .enum(["refuse", "create"])
    .optional()
    .describe("Somebody without an account: `refuse` (when nothing is said), or `create` one."),
  tenant: text.optional().describe("Of accounts that are created; `default` when nothing is said."),
});

export const accountsSchema: z.ZodType<AccountsFile> = z.strictObject({
  session: z
    .strictObject({
      idle_minutes: z
        .int()
        .min(1)
        .max(43_200)
        .optional()
        .describe("Unused for so long, it ends; 720 when nothing is said."),
      absolute_hours: z
        .int()
        .min(1)
        .max(2_160)
        .optional()
        .describe("However much it is used; 168 when nothing is said."),
    })
    .optional(),
  openid: openId.optional().describe("Signing in at an OpenID provider; needs the package openid-client."),
});

export interface AccountSettings {
  readonly sessions: SessionLimits;
  readonly openId: OpenIdSettings | undefined;
}

export function accountSettingsFrom({ session = {}, openid }: AccountsFile): AccountSettings {
  const { idle_minutes: minutes = 720, absolute_hours: hours = 168 } = session;
  return {
    sessions: { idleMs: minutes * 60_000, absoluteMs: hours * 3_600_000 },
    openId: openid === undefined ? undefined : openIdFrom(openid),
  };
}

function openIdFrom(file: OpenIdFile): OpenIdSettings {
  return {
    issuer: file.issuer,
    clientId: file.client_id,
    clientSecret: file.client_secret,
    label: file.label ?? new URL(file.issuer).host,
    scopes: file.scopes ?? ["openid", "profile", "email"],
    nameClaim: file.name_claim,
    rolesClaim: file.roles_claim,
    roles: file.roles ?? {},
    defaultRoles: file.default_roles ?? ["viewer"],
    groupsClaim: file.groups_claim,
    allowedDomains: file.allowed_domains,
    unknown: file.unknown ?? "refuse",
    tenant: file.tenant ?? "default",
  };
}
