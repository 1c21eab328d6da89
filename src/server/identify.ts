import { ownAgents } from "../core/own-agents.ts";
import type { Account, Accounts, FoundSession, FoundToken } from "../identity/accounts.ts";
import { builtInName } from "../identity/roles.ts";
import type { Credentials, Who } from "./credentials.ts";

/** The credentials that came with a request. */
export interface ShownCredential {
  readonly authorization: string | null;
  /** Of the session's cookie. */
  readonly cookie: string | undefined;
  /** Of the header: what the sign-in answered to the page. */
  readonly csrf: string | null;
  readonly changesSomething: boolean;
  /** A page that changes something must send it. */
  readonly hasOrigin: boolean;
}

export type Identified =
  | { readonly by: Who; readonly cookie?: string | undefined }
  | { readonly refused: "missing" | "wrong_token" | "ended" | "no_csrf" | "no_origin" };

/**
 * Who sends a request: a token in `Authorization`, else the session of a cookie and its proof, reading or not: every
 * port of this host gets the cookie. A wrong token is not made good by a cookie beside it. The tokens of the data folder
 * are looked at first, and need no waiting.
 */
export function identify(
  shown: ShownCredential,
  credentials: Credentials,
  accounts: Accounts | undefined,
): Identified | Promise<Identified> {
  const { authorization, cookie } = shown;
  if (authorization !== null) {
    const by = credentials.authenticate(authorization);
    if (by !== undefined) return { by };
    return accounts === undefined ? { refused: "wrong_token" } : byToken(authorization, accounts);
  }
  return cookie === undefined || accounts === undefined ? { refused: "missing" } : byCookie(cookie, shown, accounts);
}

async function byToken(authorization: string, accounts: Accounts): Promise<Identified> {
  const text = /^Bearer +(pat_[A-Za-z0-9_-]{43})$/i.exec(authorization)?.[1];
  const found = text === undefined ? undefined : await accounts.token(text);
  return found === undefined ? { refused: "wrong_token" } : { by: tokenWho(found) };
}

async function byCookie(cookie: string, shown: ShownCredential, accounts: Accounts): Promise<Identified> {
  const { csrf } = shown;
  if (csrf === null || csrf === "") return { refused: "no_csrf" };
  if (shown.changesSomething && !shown.hasOrigin) return { refused: "no_origin" };
  const found = await accounts.session(cookie, csrf);
  if (found === undefined) return { refused: "ended" };
  return { by: sessionWho(found), cookie: found.cookie };
}

function tokenWho({ account, permissions, whenEnded, token }: FoundToken): Who {
  const via = `token:${token.id}`;
  const { tenant, scopes } = token;
  const who = { credential: "api-token", scopes, permissions, account, whenEnded } as const;
  if (token.kind === "person") {
    const principal = { tenant, agent: ownAgents.person, user: account.name, via };
    return { ...who, kind: "person", principal, decider: { ...deciderOf(account, via), signedIn: false } };
  }
  const { agent = token.name, user } = token;
  const owner = token.owner === builtInName ? {} : { owner: token.owner }; // the holder of the data folder sets up agents for every person
  const principal = { tenant, agent, ...(user !== undefined && { user }), via, ...owner };
  return { ...who, kind: "agent", principal, decider: { user: user ?? agent, via, tenant } };
}

function sessionWho({ account, permissions, whenEnded, session }: FoundSession): Who {
  const via = `session:${account.name}`;
  return {
    kind: "person",
    credential: "session",
    principal: { tenant: account.tenant, agent: ownAgents.session, user: account.name, via },
    scopes: ["*"],
    permissions,
    decider: { ...deciderOf(account, via), signedIn: true },
    account,
    session,
    whenEnded,
  };
}

function deciderOf({ name, tenant, roles, groups }: Account, via: string): Who["decider"] {
  return { user: name, via, tenant, roles, groups };
}
