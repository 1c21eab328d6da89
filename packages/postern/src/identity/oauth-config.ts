/** The `oauth` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import { isLoopback } from "./openid.ts";
import type { ResourceServerSettings } from "./resource-server.ts";

const claim = z.string().min(1).max(200);
/** RFC 6749: without spaces, quotes and backslashes. `*` would grant every scope. */
const scope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, "Write one scope, without spaces, quotes and backslashes.")
  .refine((text) => text !== "*", "Name each scope: `*` would grant all of them.");

export const oauthSchema = z
  .strictObject({
    issuer: z
      .url()
      .refine(
        (url) => url.startsWith("https://") || isLoopback(url),
        "Write `https://…`; without TLS only on loopback.",
      )
      .refine((url) => !/[?#]/.test(url), "Write it without `?` and `#`, exactly as the claim `iss` of its tokens.")
      .describe("The authorization server, exactly as the claim `iss` of its tokens; its metadata says the rest."),
    audience: z
      .string()
      .regex(/^[\x21-\x7e]{1,500}$/, "Write the claim `aud` of tokens for Postern: the address of `/mcp`, as a rule.")
      .describe(
        "The claim `aud` of tokens for Postern: the address of `/mcp` as developers write it, or the name that the authorization server has for it.",
      ),
    claims: z
      .strictObject({
        tenant: claim.exactOptional().describe("Default: none; the tenant is `default`."),
        user: claim.exactOptional().describe("Default: `sub`."),
        agent: claim.exactOptional().describe("Default: none; the agent is `mcp-client`, as in tokens without it."),
        groups: claim.exactOptional().describe("Default: none."),
        scopes: claim.exactOptional().describe("Default: `scope`."),
      })
      .exactOptional()
      .describe("The claims that say who calls; `a.b` is a member of the object `a`."),
    required_scopes: z.array(scope).max(50).exactOptional().describe("Scopes that each token must have."),
    scopes: z.array(scope).max(200).exactOptional().describe("Other scopes that clients may ask for at sign-in."),
  })
  .refine(({ issuer, audience }) => bare(issuer) !== bare(audience), {
    path: ["audience"],
    error: "It is the issuer: such tokens are for the authorization server itself. Write the address of `/mcp`.",
  });

export function oauthSettingsFrom(section: CamelCased<z.output<typeof oauthSchema>>): ResourceServerSettings {
  const { issuer, audience, claims = {}, requiredScopes = [], scopes = [] } = section;
  return {
    ...{ issuer, audience, requiredScopes },
    claims: { user: "sub", scopes: "scope", ...claims },
    scopes: [...new Set([...requiredScopes, ...scopes])],
  };
}

function bare(url: string): string {
  return url.replace(/\/+$/, "");
}
