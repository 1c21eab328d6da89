/** Checks the arguments of the accounts API. */
import { type Actor, checkActorFields, checkMember, checkMembers } from "@postern/core";
import type { Account, AccountChange, Attempt, NewAccount, NewToken, OpenIdPerson } from "./accounts.ts";

const code = "request_invalid";
const person = { displayName: "a text", roles: "a list of texts", groups: "a list of texts" } as const;
const account = { ...person, name: "a text", tenant: "a text" } as const;
const accountMembers = { name: "a text", tenant: "a text", roles: "a list of texts" } as const;
const subject = { issuer: "a text", subject: "a text", firstRoles: "a list of texts" } as const;
const token = {
  name: "a text",
  kind: ["agent", "person"],
  scopes: "a list of texts",
  permissions: "a list of texts",
  agent: "a text",
  user: "a text",
  ttlMs: "a number",
} as const;

/** @throws RuntimeFault `request_invalid` */
export function checkTexts(texts: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(texts)) checkMember(name, value, "a text", code);
}

/** @throws RuntimeFault `request_invalid` */
export function checkActor(actor: Actor): void {
  checkActorFields(actor, code);
}

/** @throws RuntimeFault `request_invalid` */
export function checkNew(given: NewAccount): void {
  const members = { ...account, password: "a text" } as const;
  checkMembers(given, { code, what: "The account", members, needed: ["name", "roles"] });
}

/** @throws RuntimeFault `request_invalid` */
export function checkChange(given: AccountChange): void {
  checkMembers(given, { code, what: "The change", members: { ...person, disabled: "true or false" } });
}

/** @throws RuntimeFault `request_invalid` */
export function checkAccount(given: Account): void {
  checkMembers(given, { code, what: "The account", members: accountMembers, needed: Object.keys(accountMembers) });
}

/** @throws RuntimeFault `token_refused` */
export function checkToken(given: NewToken): void {
  checkMembers(given, { code: "token_refused", what: "The token", members: token, needed: ["name", "kind"] });
}

/** @throws RuntimeFault `request_invalid` */
export function checkAttempt(from: Attempt): void {
  checkMembers(from, { code, what: "From where it is tried", members: { address: "a text" }, needed: ["address"] });
}

/** @throws RuntimeFault `request_invalid` */
export function checkPasswords(given: { readonly current: string; readonly next: string }): void {
  const members = { current: "a text", next: "a text" } as const;
  checkMembers(given, { code, what: "The password", members, needed: Object.keys(members) });
}

/** @throws RuntimeFault `request_invalid` */
export function checkProviderAnswer(answer: OpenIdPerson | { readonly refused: string }): void {
  checkMembers(answer, { code, what: "The provider's answer", members: { refused: "a text" } });
  if ("refused" in answer) return;
  const needed = ["name", "tenant", "unknown", ...Object.keys(subject)];
  const members = { ...account, ...subject, unknown: ["refuse", "create"] };
  checkMembers(answer, { code, what: "The provider's answer", members, needed });
}
