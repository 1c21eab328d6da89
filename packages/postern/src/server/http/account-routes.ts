import { noOpaqueFields, type Permission, roles, type SnakeCased, toCamelCase, toSnakeCase } from "@postern/core";
import { accounts, type RouteDefinition, tokens } from "@postern/core/contract";
import type { Account, Accounts } from "../../identity/accounts.ts";
import type { Who } from "../credentials.ts";
import { actorOf } from "./caller.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { withAccounts } from "./session-routes.ts";

/** People. An admin changes those of its tenant; the data folder's token those of all. */
export const accountRoutes: readonly Route[] = serve(accounts, {
  list: byAccounts(async (known, { by }) => ({ accounts: await known.list(actorOf(by)) })),
  add: byAccounts((known, { by, body }) => known.add(toCamelCase(body, noOpaqueFields), actorOf(by))),
  show: byAccounts((known, { by, part }) => known.get(part("name"), actorOf(by))),
  change: byAccounts((known, { by, part, body }) =>
    known.change(part("name"), toCamelCase(body, noOpaqueFields), actorOf(by)),
  ),
  setPassword: byAccounts((known, { by, part, body }) => known.setPassword(part("name"), body.password, actorOf(by))),
  signOut: byAccounts((known, { by, part }) => known.endSessions(part("name"), actorOf(by))),
  link: byAccounts(async (known, { by, part, publicUrl, origin }) => {
    const { token, expiresAt } = await known.makeLink(part("name"), actorOf(by));
    return { url: linkUrl(publicUrl ?? origin, token), token, expiresAt };
  }),
});

export const tokenRoutes: readonly Route[] = serve(tokens, {
  list: byAccounts(async (known, { by }) => ({ tokens: await known.listTokens(actorOf(by), ownerSeen(by)) })),
  create: byAccounts(async (known, { by, body: { ttl_seconds: ttlSeconds, permissions, ...fields } }) => {
    const wanted = {
      ...fields,
      ttlMs: ttlSeconds && ttlSeconds * 1000,
      permissions: permissions as readonly Permission[] | undefined, // `makeToken` refuses what is none
    };
    const { token, text } = await known.makeToken(wanted, ownerOf(by), actorOf(by));
    return { token: text, details: token };
  }),
  revoke: byAccounts((known, { by, part }) => known.revokeToken(part("id"), actorOf(by), ownerSeen(by))),
});

/** What accounts and tokens are has no data inside, so all of it takes the contract's names. */
function byAccounts<R extends RouteDefinition, Found>(
  act: (known: Accounts, request: RouteRequest<R>) => Promise<Found>,
): (request: RouteRequest<R>) => Promise<Response | SnakeCased<Found>> {
  return (request) => withAccounts(request, async (known) => toSnakeCase(await act(known, request), noOpaqueFields));
}

/** The token travels behind `#`, which no browser sends to a server: not in a log, not in a referrer. */
export function linkUrl(origin: string, token: string): string {
  return `${origin}/sign-in#link=${token}`;
}

/** An admin sees the tokens of others, too. */
function ownerSeen({ permissions, decider }: Who): string | undefined {
  return permissions.has("accounts:admin") ? undefined : decider.user;
}

/** The holder of the data folder owns the tokens that it makes. */
function ownerOf({ account, decider: { user: name }, principal: { tenant } }: Who): Account {
  const builtIn = { id: `usr_${name}`, name, displayName: name, tenant, roles, groups: [], disabled: false };
  return account ?? { ...builtIn, signsIn: "link", createdAt: 0 };
}
