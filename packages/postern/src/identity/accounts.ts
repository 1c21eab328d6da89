import type { Actor, Permission, Role } from "@postern/core";

/**
 * A person. The login name is unique here, whatever the tenant, and never gets another owner: accounts are disabled,
 * not removed.
 *
 * @public
 */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly tenant: string;
  readonly roles: readonly Role[];
  /** For routing requests to groups. */
  readonly groups: readonly string[];
  readonly disabled: boolean;
  readonly signsIn: "password" | "openid" | "link";
  /** Wall clock, milliseconds. */
  readonly createdAt: number;
}

/**
 * A session in a browser whose cookie and proof are valid.
 *
 * @public
 */
export interface LiveSession {
  readonly id: string;
  readonly expiresAt: number;
}

/**
 * The origin of a sign-in.
 *
 * @public
 */
export interface Attempt {
  readonly address: string;
}

/**
 * Signed in. Only this answer has the cookie's value and its proof.
 *
 * @public
 */
export interface SignedIn {
  readonly account: Account;
  readonly session: LiveSession;
  readonly cookie: string;
  /** The page keeps it and sends it with every request in `x-postern-csrf`. A cookie alone is refused. */
  readonly csrf: string;
}

/**
 * `wrong` does not reveal whether the name exists.
 *
 * @public
 */
export type SignIn = SignedIn | { readonly refused: "wrong" | "too_many" };

/**
 * A valid cookie or token.
 *
 * @public
 */
export interface FoundCredential {
  readonly account: Account;
  readonly permissions: ReadonlySet<Permission>;
  /** Calls `then` once, when this credential ends or changes. The returned function stops watching. */
  readonly whenEnded: (then: () => void) => () => void;
}

/**
 * A session, found by its cookie.
 *
 * @public
 */
export interface FoundSession extends FoundCredential {
  readonly session: LiveSession;
  /** A new value for the cookie. The old one ends soon. */
  readonly cookie?: string;
}

/**
 * A token for programs. It never has more permissions than its owner, who made it, has now.
 *
 * @public
 */
export interface ApiToken {
  readonly id: string;
  readonly name: string;
  readonly kind: "agent" | "person";
  readonly owner: string;
  /** The credential of the owner that made it. */
  readonly via: string;
  readonly tenant: string;
  /** The scopes that a call with it may claim. */
  readonly scopes: readonly string[];
  readonly permissions: readonly Permission[];
  /** The agent's name, for kind `agent` only: `OWNER/NAME`, unless an admin chose it. */
  readonly agent?: string;
  readonly user?: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt?: number;
  /** Rounded to the minute. */
  readonly lastUsedAt?: number;
}

/**
 * A token and its present state.
 *
 * @public
 */
export interface ListedToken extends ApiToken {
  /** `dead`: neither revoked nor expired, but refused, because its owner was disabled or lost permissions. */
  readonly state: "live" | "over" | "revoked" | "dead";
  /** Why it is dead. */
  readonly why?: string;
  /** Its permissions that the owner has no longer. */
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
 * A new person.
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
 * Fields that are left out stay unchanged.
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
 * A new token.
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
 * A person as an OpenID provider names them, after all checks.
 *
 * @public
 */
export interface OpenIdPerson {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly displayName?: string | undefined;
  /** Undefined when the provider sends no roles; then the account's roles stay. */
  readonly roles?: readonly Role[] | undefined;
  /** Roles of a new account when the provider sends none. */
  readonly firstRoles: readonly Role[];
  readonly groups?: readonly string[] | undefined;
  readonly tenant: string;
  /** What to do for a person without an account. */
  readonly unknown: "refuse" | "create";
}

/** Sign-in at an OpenID provider: redirect, and return. */
export interface OpenIdSignIn {
  /** The text of the console's button. */
  readonly label: string;
  /** @throws RuntimeFault `openid_unreachable` when the provider does not answer */
  begin(from: OpenIdFrom): Promise<OpenIdRedirect>;
  /**
   * @param back the query that the provider sent the browser back with: `code` and `state`, or an error
   * @param binder from the cookie; without it, no sign-in was started in this browser
   */
  finish(back: URLSearchParams, binder: string | undefined): Promise<OpenIdFinished>;
}

export interface OpenIdFrom {
  /** The address that the provider sends the browser back to. */
  readonly redirectUri: string;
  /** The page that started it: a path of the console. */
  readonly to: string;
  /** The address of the browser. The number of sign-ins a second is limited for each. */
  readonly address: string;
}

export type OpenIdRedirect =
  | {
      /** The provider's page. */
      readonly url: string;
      /** The sealed state of the sign-in. The browser keeps it in a cookie. */
      readonly binder: string;
    }
  | { readonly refused: "too_many" };

export type OpenIdFinished =
  | { readonly person: OpenIdPerson; readonly to: string }
  /** For the log. The browser only learns that it failed. */
  | { readonly refused: string };

/**
 * People, their sessions and their tokens. Every change is written with its event, in one transaction.
 * An actor that is confined to a tenant can change only its people.
 * Contract: changes throw `RuntimeFault` with one of `accountProblems` as code; people of another tenant do not exist
 * for the actor.
 *
 * @public
 */
export interface Accounts {
  /** Whether there are accounts. Until then, only the tokens and links of the data folder can sign in. */
  readonly exist: boolean;

  list(actor: Actor): Promise<readonly Account[]>;
  get(name: string, actor: Actor): Promise<Account>;
  add(account: NewAccount, actor: Actor): Promise<Account>;
  change(name: string, change: AccountChange, actor: Actor): Promise<Account>;
  setPassword(name: string, password: string, actor: Actor): Promise<Account>;
  /** Ends every session of the account. */
  endSessions(name: string, actor: Actor): Promise<Account>;
  /** A token that signs in once, within ten minutes. For `operator` it works without an account, as long as there are none. */
  makeLink(name: string, actor: Actor): Promise<{ readonly token: string; readonly expiresAt: number }>;

  signIn(name: string, password: string, from: Attempt): Promise<SignIn>;
  signInByLink(token: string, from: Attempt): Promise<SignIn>;
  /** @param answer `refused`: the provider named no person, which is logged */
  signInByOpenId(answer: OpenIdPerson | { readonly refused: string }, from: Attempt): Promise<SignIn>;
  changeOwnPassword(
    account: Account,
    password: { readonly current: string; readonly next: string },
    from: Attempt,
  ): Promise<"changed" | "wrong" | "too_many">;
  /** Both are required: a browser sends the cookie to every port of its host, but the proof to none. */
  session(cookie: string, csrf: string): Promise<FoundSession | undefined>;
  signOut(cookie: string): Promise<void>;

  listTokens(actor: Actor, owner?: string): Promise<readonly ListedToken[]>;
  /** Only this answer has the token's text. */
  makeToken(
    token: NewToken,
    owner: Account,
    actor: Actor,
  ): Promise<{ readonly token: ApiToken; readonly text: string }>;
  revokeToken(id: string, actor: Actor, owner?: string): Promise<ApiToken>;
  token(text: string): Promise<FoundToken | undefined>;
  /** Whether a credential in the log's form (`token:tok_…`) was revoked. Returns false for other credentials. */
  isRevoked(via: string): Promise<boolean>;
}

/** Problems of a change, each with its HTTP number. */
export const accountProblems = {
  account_unknown: 404,
  account_exists: 409,
  token_unknown: 404,
  token_refused: 422,
  request_invalid: 422,
  tenant_refused: 403,
} as const;
