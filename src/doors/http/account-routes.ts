import type { Account } from "../../accounts/accounts.ts";
import { type Permission, roles } from "../../accounts/roles.ts";
import type { Who } from "../credentials.ts";
import { accountToWire, listedTokenToWire, tokenToWire } from "../wire-accounts.ts";
import {
  type AccountFields,
  accountAnswer,
  accountFields,
  accountsAnswer,
  linkAnswer,
  type NewAccountFields,
  type NewTokenFields,
  newAccountFields,
  newTokenAnswer,
  newTokenFields,
  type PasswordFields,
  passwordFields,
  tokenAnswer,
  tokensAnswer,
} from "./account-schemas.ts";
import { answer } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { nothing, type Route, route } from "./old-route.ts";
import { withAccounts } from "./session-routes.ts";

type None = Record<string, never>;

/** People and what speaks for them. An admin changes those of its tenant; the data folder's token those of all. */
export const accountRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/accounts",
    needs: "accounts:admin",
    summary: "The people who can sign in.",
    body: nothing,
    query: nothing,
    answers: accountsAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) =>
        answer({ accounts: (await accounts.list(actorOf(asked.by))).map(accountToWire) }),
      ),
  }),
  route<NewAccountFields, None>({
    method: "post",
    path: "/v1/accounts",
    needs: "accounts:admin",
    summary: "Add one. Without a password it signs in by a link, or at the OpenID provider.",
    body: newAccountFields,
    query: nothing,
    answers: accountAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { display_name: displayName, ...fields } = asked.body;
        return answer(accountToWire(await accounts.add({ ...fields, displayName }, actorOf(asked.by))), 201);
      }),
  }),
  route({
    method: "get",
    path: "/v1/accounts/{name}",
    needs: "accounts:admin",
    summary: "One person.",
    body: nothing,
    query: nothing,
    answers: accountAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) =>
        answer(accountToWire(await accounts.get(asked.part("name"), actorOf(asked.by)))),
      ),
  }),
  route<AccountFields, None>({
    method: "patch",
    path: "/v1/accounts/{name}",
    needs: "accounts:admin",
    summary: "Change roles, groups or name, or disable it: its sessions and tokens end at once.",
    body: accountFields,
    query: nothing,
    answers: accountAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { display_name: displayName, ...fields } = asked.body;
        const changed = await accounts.change(asked.part("name"), { ...fields, displayName }, actorOf(asked.by));
        return answer(accountToWire(changed));
      }),
  }),
  route<PasswordFields, None>({
    method: "put",
    path: "/v1/accounts/{name}/password",
    needs: "accounts:admin",
    summary: "Set its password: its sessions end.",
    body: passwordFields,
    query: nothing,
    answers: accountAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { part, body, by } = asked;
        return answer(accountToWire(await accounts.setPassword(part("name"), body.password, actorOf(by))));
      }),
  }),
  route({
    method: "post",
    path: "/v1/accounts/{name}/sign-out",
    needs: "accounts:admin",
    summary: "End every session of it.",
    body: nothing,
    query: nothing,
    answers: accountAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) =>
        answer(accountToWire(await accounts.endSessions(asked.part("name"), actorOf(asked.by)))),
      ),
  }),
  route({
    method: "post",
    path: "/v1/accounts/{name}/link",
    needs: "accounts:admin",
    summary: "A link that signs in once, within ten minutes. `operator` gets one while there are no accounts.",
    body: nothing,
    query: nothing,
    answers: linkAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { token, expiresAt } = await accounts.makeLink(asked.part("name"), actorOf(asked.by));
        const said = {
          url: linkUrl(asked.publicUrl ?? asked.origin, token),
          token,
          expires_at: new Date(expiresAt).toISOString(),
        };
        return answer(said, 201);
      }),
  }),
  route({
    method: "get",
    path: "/v1/tokens",
    needs: "tokens:own",
    summary: "API tokens as they stand now: one's own; an admin's view is of all in its tenant.",
    body: nothing,
    query: nothing,
    answers: tokensAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const tokens = await accounts.listTokens(actorOf(asked.by), ownerSeen(asked.by));
        return answer({ tokens: tokens.map(listedTokenToWire) });
      }),
  }),
  route<NewTokenFields, None>({
    method: "post",
    path: "/v1/tokens",
    needs: "tokens:own",
    summary:
      "Make one. Its text is in this answer and nowhere else. Its agent is `YOU/NAME`, unless an admin makes it.",
    body: newTokenFields,
    query: nothing,
    answers: newTokenAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { by, body } = asked;
        const { ttl_seconds: seconds, permissions, ...fields } = body;
        const wanted = {
          ...fields,
          ...(seconds !== undefined && { ttlMs: seconds * 1000 }),
          permissions: permissions as readonly Permission[] | undefined, // the book refuses what is none
        };
        const { token, text } = await accounts.makeToken(wanted, ownerOf(by), actorOf(by));
        return answer({ token: text, details: tokenToWire(token) }, 201);
      }),
  }),
  route({
    method: "delete",
    path: "/v1/tokens/{id}",
    needs: "tokens:own",
    summary: "Revoke it: from the next request on it is nobody's.",
    body: nothing,
    query: nothing,
    answers: tokenAnswer,
    run: (asked) =>
      withAccounts(asked, async (accounts) => {
        const { by, part } = asked;
        return answer(tokenToWire(await accounts.revokeToken(part("id"), actorOf(by), ownerSeen(by))));
      }),
  }),
];

/** The token travels behind `#`, which no browser sends to a server: not in a log, not in a referrer. */
export function linkUrl(origin: string, token: string): string {
  return `${origin}/sign-in#link=${token}`;
}

/** Whose tokens: an admin sees those of others, too. */
function ownerSeen({ permissions, decider }: Who): string | undefined {
  return permissions.has("accounts:admin") ? undefined : decider.user;
}

/** Who holds the data folder owns what it makes. */
function ownerOf({ account, decider, principal }: Who): Account {
  if (account !== undefined) return account;
  const { user } = decider;
  return {
    id: `usr_${user}`,
    name: user,
    displayName: user,
    tenant: principal.tenant,
    roles,
    groups: [],
    disabled: false,
    signsIn: "link",
    createdAt: 0,
  };
}
