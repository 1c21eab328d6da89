/** The `accounts` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased, roles } from "@postern/core";
import { z } from "zod";
import { isLoopback, type OpenIdSettings } from "./openid.ts";
import type { SessionLimits } from "./session-repository.ts";

const text = z.string().min(1);
const role = z.enum(["viewer", "approver", "operator", "auditor", "admin"] satisfies typeof roles);

const openId = z.strictObject({
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
    .exactOptional()
    .describe("`secret://connector/key`; none for a public client. PKCE is always used."),
  label: text.max(60).exactOptional().describe("The text of the console's sign-in button. Default: the issuer's host."),
  scopes: z.array(text).exactOptional().describe("Default: [openid, profile, email]."),
  name_claim: text
    .exactOptional()
    .describe("The claim that is the login name. Default: the verified e-mail address, else preferred_username."),
  roles_claim: text
    .exactOptional()
    .describe("The claim whose values `roles` maps. Roles then follow it at every sign-in."),
  roles: z.record(text, z.array(role)).exactOptional().describe("Which roles a value of `roles_claim` gives."),
  default_roles: z
    .array(role)
    .exactOptional()
    .describe("The roles of everyone who signs in with this provider. Default: [viewer]."),
  groups_claim: text.exactOptional().describe("The claim whose values are the groups of a person."),
  allowed_domains: z
    .array(text)
    .min(1)
    .exactOptional()
    .describe("Only a verified e-mail address in one of these domains may sign in."),
  unknown: z
    .enum(["refuse", "create"])
    .exactOptional()
    .describe("When a person without an account signs in: `refuse` (default), or `create` an account."),
  tenant: text.exactOptional().describe("The tenant of accounts that are created. Default: `default`."),
});

export const accountsSchema = z.strictObject({
  session: z
    .strictObject({
      idle_minutes: z
        .int()
        .min(1)
        .max(43_200)
        .exactOptional()
        .describe("A session ends when it is unused for so long. Default: 720."),
      absolute_hours: z
        .int()
        .min(1)
        .max(2_160)
        .exactOptional()
        .describe("A session ends after so long, even when it is used. Default: 168."),
    })
    .exactOptional(),
  openid: openId.exactOptional().describe("Signing in at an OpenID provider; needs the package openid-client."),
});

type AccountsSection = CamelCased<z.output<typeof accountsSchema>>;

export interface AccountSettings {
  readonly sessions: SessionLimits;
  readonly openId: OpenIdSettings | undefined;
}

export function accountSettingsFrom({ session = {}, openid }: AccountsSection): AccountSettings {
  const { idleMinutes = 720, absoluteHours = 168 } = session;
  return {
    sessions: { idleMs: idleMinutes * 60_000, absoluteMs: absoluteHours * 3_600_000 },
    openId: openid && {
      ...{ label: new URL(openid.issuer).host, scopes: ["openid", "profile", "email"], roles: {} },
      ...{ defaultRoles: ["viewer"], unknown: "refuse", tenant: "default" },
      ...openid,
    },
  };
}
