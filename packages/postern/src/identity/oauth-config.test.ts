import { noOpaqueFields, toCamelCase } from "@postern/core";
import { expect, it } from "vitest";
import { oauthSchema, oauthSettingsFrom } from "./oauth-config.ts";
import { audienceProblem } from "./resource-server.ts";

const usual = { issuer: "https://login.example.com", audience: "https://postern.example.com/mcp" };

it("needs an issuer and an audience: the user is `sub`, the scopes are `scope`", () => {
  expect(oauthSettingsFrom(usual)).toEqual({
    ...{ ...usual, claims: { user: "sub", scopes: "scope" }, requiredScopes: [], scopes: [] },
  });
});

it("offers the required scopes among the others, and keeps the names of claims as they are written", () => {
  const claims = { groups: "realm_access.roles", tenant: "https://example.com/org_id" };
  const section = { ...usual, claims, required_scopes: ["mcp"], scopes: ["mail:write", "mcp"] };
  expect(oauthSettingsFrom(toCamelCase(section, noOpaqueFields))).toMatchObject({
    ...{ claims: { user: "sub", ...claims }, requiredScopes: ["mcp"], scopes: ["mcp", "mail:write"] },
  });
});

it.each([
  [{ issuer: "login.example.com" }, "issuer", /URL/i],
  [{ issuer: "http://login.example.com" }, "issuer", /https/],
  [{ issuer: "http://127.0.0.1.evil.example" }, "issuer", /https/],
  [{ issuer: "https://login.example.com?tenant=a" }, "issuer", /`\?`/],
  [{ audience: "" }, "audience", /`aud`/],
  [{ audience: "two words" }, "audience", /`aud`/],
  [{ audience: "https://login.example.com/" }, "audience", /issuer/],
  [{ required_scopes: ["mcp mail"] }, "required_scopes", /spaces/],
  [{ scopes: ["*"] }, "scopes", /all/],
  [{ claims: { user: "" } }, "claims", />=1/],
  [{ claims: { role: "role" } }, "claims", /role/],
])("refuses %j with what to write", (part, place, why) => {
  const [issue] = oauthSchema.safeParse({ ...usual, ...part }).error?.issues ?? [];
  expect(issue?.path[0]).toBe(place);
  expect(issue?.message).toMatch(why);
});

it.each([
  ["https://postern.example.com/mcp", "https://postern.example.com", undefined],
  ["https://postern.example.com/mcp", undefined, undefined],
  ["postern-api", "https://postern.example.com", undefined],
  ["https://api.example.com", "https://postern.example.com", undefined],
  ["https://postern.example.com", "https://postern.example.com", /https:\/\/postern.example.com\/mcp/],
  ["https://other.example.com/mcp", "https://postern.example.com", /https:\/\/postern.example.com\/mcp/],
])("says at start whether clients ask for the audience %s at %s", (audience, publicUrl, problem) => {
  const found = audienceProblem(audience, publicUrl);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});
