import { noOpaqueFields, toCamelCase } from "@postern/core";
import { expect, it } from "vitest";
import { accountSettingsFrom, accountsSchema } from "./accounts-config.ts";

const openid = { issuer: "https://login.example.com", client_id: "postern" };
const problemOf = (section: unknown): string | undefined => accountsSchema.safeParse(section).error?.issues[0]?.message;

it("says nothing: sessions of 12 hours unused and 7 days, and nobody signs in elsewhere", () => {
  expect(accountSettingsFrom({})).toEqual({
    sessions: { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 },
    openId: undefined,
  });
});

it("takes a provider with no more than its address and our name there: strangers are refused, roles are viewer", () => {
  expect(accountSettingsFrom(toCamelCase({ openid }, noOpaqueFields)).openId).toMatchObject({
    label: "login.example.com",
    scopes: ["openid", "profile", "email"],
    defaultRoles: ["viewer"],
    unknown: "refuse",
    tenant: "default",
  });
});

it.each([
  [{ openid: { ...openid, issuer: "http://login.example.com" } }, /https/],
  [{ openid: { ...openid, issuer: "http://127.0.0.1.evil.example" } }, /https/],
  [{ openid: { ...openid, issuer: "login" } }, /URL/i],
  [{ openid: { ...openid, client_secret: "the value itself" } }, /secret:\/\/connector\/key/],
  [{ openid: { ...openid, roles: { all: ["king"] } } }, /viewer/],
  [{ openid: { ...openid, allowed_domains: [] } }, /1/],
  [{ session: { idle_minutes: 0 } }, /1/],
  [{ sessions: {} }, /sessions/],
])("refuses %j", (section, problem) => {
  expect(problemOf(section)).toMatch(problem);
});

it("takes a provider without TLS on this machine only", () => {
  for (const issuer of ["http://127.0.0.1:3000", "http://localhost", "http://[::1]:80/realm"])
    expect(problemOf({ openid: { ...openid, issuer } }), issuer).toBeUndefined();
});
