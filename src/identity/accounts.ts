import type { Actor } from "../core/actor.ts";
import type { Permission, Role } from "./roles.ts";

/**
 * A person. The login name is unique here, whatever the tenant, and never changes hands: accounts are disabled, not removed.
 *
 * @public
 */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly tenant: string;
  readonly roles: readonly Role[];
  /** Of people, for routing requests to them. */
  readonly groups: readonly string[];
  readonly disabled: boolean;
  readonly signsIn: "password" | "openid" | "link";
  /** Wall clock, milliseconds. */
  readonly createdAt: number;
}

/**
 * What a session in a browser is, after its cookie and its proof were found to be good.
 *
 * @public
 */
export interface LiveSession {
  readonly id: string;
  readonly expiresAt: number;
}

/**
 * Where a sign-in comes from.
 *
 * @public
 */
export interface Attempt {
  readonly address: string;
}

/**
 * Signed in: only this answer has the cookie's value and its proof.
 *
 * @public
 */
export interface SignedIn {
  readonly account: Account;
  readonly session: LiveSession;
  readonly cookie: string;
  /** What the page keeps and sends with every request, in `x-postern-csrf`: a cookie alone is refused. */
  readonly csrf: string;
}

/**
 * `wrong` says no more than that: not whether there is such a name.
 *
 * @public
 */
export type SignIn = SignedIn | { readonly refused: "wrong" | "too_many" };

/**
 * A cookie or a token that was good just now.
 *
 * @public
 */
export interface FoundCredential {
  readonly account: Account;
  readonly permissions: ReadonlySet<Permission>;
  /** Calls `then` once, as soon as this credential is no longer what it was; returns a function that stops watching. */
  readonly whenEnded: (then: () => void) => () => void;
}

/**
 * A session, found by its cookie.
 *
 * @public
 */
export interface FoundSession extends FoundCredential {
  readonly session: LiveSession;
  /** A new value for the cookie: the old one ends soon. */
  readonly cookie?: string;
}

/**
 * A token for programs. What it may do is never more than its owner, who made it, may do now.
 *
 * @public
 */
export interface ApiToken {
  readonly id: string;
  readonly name: string;
  readonly kind: "agent" | "person";
  readonly owner: string;
  /** By which credential of the owner it was made. */
  readonly via: string;
  readonly tenant: string;
  /** Of tools: what a call made with it may claim. */
  readonly scopes: readonly string[];
  readonly permissions: readonly Permission[];
  /** Who calls with it: kind `agent` only. `OWNER/NAME`, unless an admin named it. */
  readonly agent?: string;
  readonly user?: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt?: number;
  /** To the minute. */
  readonly lastUsedAt?: number;
}

/**
 * A token as it stands now.
 *
 * @public
 */
export interface ListedToken extends ApiToken {
  /** `dead`: neither revoked nor over, but refused, because its owner was disabled or lost rights. */
  readonly state: "live" | "over" | "revoked" | "dead";
  /** Of a dead one. */
  readonly why?: string;
  /** Of its permissions, those its owner has no more. */
  readonly lost: readonly Permission[];
}

/**
 * A token, found by its text.
 *
 * @public
 */
export interface FoundToken extends FoundCredential {
  readonly token: ApiToken;
}

/**
 * A person to be added.
 *
 * @public
 */
export interface NewAccount {
  readonly name: string;
  readonly displayName?: string | undefined;
  readonly tenant?: string | undefined;
  readonly roles: readonly Role[];
  readonly groups?: readonly string[] | undefined;
  readonly password?: string | undefined;
}

/**
 * What is left out stays.
 *
 * @public
 */
export interface AccountChange {
  readonly displayName?: string | undefined;
  readonly roles?: readonly Role[] | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly disabled?: boolean | undefined;
}

/**
 * A token to be made.
 *
 * @public
 */
export interface NewToken {
  readonly name: string;
  readonly kind: "agent" | "person";
  readonly scopes?: readonly string[] | undefined;
  readonly permissions?: readonly Permission[] | undefined;
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly ttlMs?: number | undefined;
}

/**
 * What an OpenID provider says about a person, after all of it was checked.
 *
 * @public
 */
export interface OpenIdPerson {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly displayName?: string | undefined;
  /** Undefined: the provider says nothing about roles, and those of the account stay. */
  readonly roles?: readonly Role[] | undefined;
  /** Of an account that is made for it, when the provider says nothing. */
  readonly firstRoles: readonly Role[];
  readonly groups?: readonly string[] | undefined;
  readonly tenant: string;
  /** What happens to a person without an account. */
  readonly unknown: "refuse" | "create";
}

/** Signing in at an OpenID provider: the way there, and the way back. */
export interface OpenIdSignIn {
  /** As the console's button says it. */
  readonly label: string;
  /** @throws RuntimeFault `openid_unreachable` when the provider cannot be asked */
  begin(from: OpenIdFrom): Promise<OpenIdRedirect>;
  /**
   * @param back as the provider sent the browser: with `code` and `state`, or with an error
   * @param binder of the cookie; without it, no sign-in was started here
   */
  finish(back: URLSearchParams, binder: string | undefined): Promise<OpenIdFinished>;
}

export interface OpenIdFrom {
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
  /** The page it came from: a path of the console. */
  readonly to: string;
  /** Who is at the other end of the line: so many beginnings a second each. */
  readonly address: string;
}

export type OpenIdRedirect =
  | {
      /** At the provider. */
      readonly url: string;
      /** What was begun, sealed: kept by the browser that began, in a cookie. */
      readonly binder: string;
    }
  | { readonly refused: "too_many" };

export type OpenIdFinished =
  | { readonly person: OpenIdPerson; readonly to: string }
  /** For the log; the browser only learns that it failed. */
  | { readonly refused: string };

/**
 * People, their sessions and their tokens. Every change is written with its event, in one transaction.
 * An actor that is confined to a tenant changes its people alone.
 *
 * Contract: changes throw `RuntimeFault` with one of `accountProblems` as code; another tenant's people are not there.
 *
 * @public
 */
export interface Accounts {
  /** Whether there is any: until then the tokens and the links of the data folder are all there is to sign in with. */
  readonly exist: boolean;

  list(actor: Actor): Promise<readonly Account[]>;
  get(name: string, actor: Actor): Promise<Account>;
  add(account: NewAccount, actor: Actor): Promise<Account>;
  change(name: string, change: AccountChange, actor: Actor): Promise<Account>;
  setPassword(name: string, password: string, actor: Actor): Promise<Account>;
  /** Ends every session of it. */
  endSessions(name: string, actor: Actor): Promise<Account>;
  /** A token that signs in once, within ten minutes. For `operator`, while there are no accounts, it needs none. */
  makeLink(name: string, actor: Actor): Promise<{ readonly token: string; readonly expiresAt: number }>;

  signIn(name: string, password: string, from: Attempt): Promise<SignIn>;
  signInByLink(token: string, from: Attempt): Promise<SignIn>;
  /** @param answer `refused`: the provider did not name a person, which is logged */
  signInByOpenId(answer: OpenIdPerson | { readonly refused: string }, from: Attempt): Promise<SignIn>;
  changeOwnPassword(
    account: Account,
    password: { readonly current: string; readonly next: string },
    from: Attempt,
  ): Promise<"changed" | "wrong" | "too_many">;
  /** Both are needed: a browser sends the cookie to every port of its host, and the proof to none. */
  session(cookie: string, csrf: string): Promise<FoundSession | undefined>;
  signOut(cookie: string): Promise<void>;

  listTokens(actor: Actor, owner?: string): Promise<readonly ListedToken[]>;
  /** Only this answer has the text. */
  makeToken(
    token: NewToken,
    owner: Account,
    actor: Actor,
  ): Promise<{ readonly token: ApiToken; readonly text: string }>;
  revokeToken(id: string, actor: Actor, owner?: string): Promise<ApiToken>;
  token(text: string): Promise<FoundToken | undefined>;
  /** Whether a credential, as the log writes it (`token:tok_…`), was revoked. False for what is no such token. */
  isRevoked(via: string): Promise<boolean>;
}

/** Problems of a change, each with its HTTP number. */
export const accountProblems = {
  account_unknown: 404,
  account_exists: 409,
  account_invalid: 422,
  password_refused: 422,
  token_unknown: 404,
  token_refused: 422,
  tenant_refused: 403,
} as const;
