import { noOpaqueFields, type SnakeCased, toSnakeCase } from "../../core/case.ts";
import type { Account, Accounts, ApiToken } from "../../identity/accounts.ts";
import { type Permission, roles } from "../../identity/roles.ts";
import { accounts, tokens } from "../contract/accounts.ts";
import type { Input, RouteDefinition } from "../contract/route.ts";
import type { Who } from "../credentials.ts";
import { actorOf } from "./decider.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { withAccounts } from "./session-routes.ts";

/** People. An admin changes those of its tenant; the data folder's token those of all. */
export const accountRoutes: readonly Route[] = serve(accounts, {
  list: byAccounts(async (known, { by }) => ({ accounts: (await known.list(actorOf(by))).map(shown) })),
  add: byAccounts(async (known, { by, body: { display_name: displayName, ...fields } }) =>
    shown(await known.add({ ...fields, displayName }, actorOf(by))),
  ),
  show: byAccounts(async (known, { by, part }) => shown(await known.get(part("name"), actorOf(by)))),
  change: byAccounts(async (known, { by, part, body: { display_name: displayName, ...fields } }) =>
    shown(await known.change(part("name"), { ...fields, displayName }, actorOf(by))),
  ),
  setPassword: byAccounts(async (known, { by, part, body }) =>
    shown(await known.setPassword(part("name"), body.password, actorOf(by))),
  ),
  signOut: byAccounts(async (known, { by, part }) => shown(await known.endSessions(part("name"), actorOf(by)))),
  link: byAccounts(async (known, { by, part, publicUrl, origin }) => {
    const { token, expiresAt } = await known.makeLink(part("name"), actorOf(by));
    return { url: linkUrl(publicUrl ?? origin, token), token, expires_at: expiresAt };
  }),
});

export const tokenRoutes: readonly Route[] = serve(tokens, {
  list: byAccounts(async (known, { by }) => ({
    tokens: (await known.listTokens(actorOf(by), ownerSeen(by))).map(shown),
  })),
  create: byAccounts(async (known, { by, body: { ttl_seconds: seconds, permissions, ...fields } }) => {
    const wanted = {
      ...fields,
      ttlMs: seconds && seconds * 1000,
      permissions: permissions as readonly Permission[] | undefined, // `makeToken` refuses what is none
    };
    const { token, text } = await known.makeToken(wanted, ownerOf(by), actorOf(by));
    return { token: text, details: shown(token) };
  }),
  revoke: byAccounts(async (known, { by, part }) =>
    shown(await known.revokeToken(part("id"), actorOf(by), ownerSeen(by))),
  ),
});

function byAccounts<R extends RouteDefinition>(
  act: (known: Accounts, request: RouteRequest<R>) => Promise<Input<R["answer"]>>,
): (request: RouteRequest<R>) => Promise<Response | Input<R["answer"]>> {
  return (request) => withAccounts(request, (known) => act(known, request));
}

function shown<Known extends Account | ApiToken>(known: Known): SnakeCased<Known> {
  return toSnakeCase(known, noOpaqueFields);
}

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
