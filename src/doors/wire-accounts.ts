import type { Account, ApiToken, ListedToken } from "../accounts/accounts.ts";

/** A person on the wire. Nothing of a password is ever in it. */
export interface AccountWire {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly disabled: boolean;
  readonly signs_in: "password" | "openid" | "link";
  readonly created_at: string;
}

export interface TokenWire {
  readonly id: string;
  readonly name: string;
  readonly kind: "agent" | "person";
  readonly owner: string;
  /** By which credential of the owner it was made. */
  readonly via: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly created_at: string;
  readonly expires_at: string;
  readonly revoked_at?: string | undefined;
  readonly last_used_at?: string | undefined;
}

/** As it stands now. */
export interface ListedTokenWire extends TokenWire {
  readonly state: "live" | "over" | "revoked" | "dead";
  /** Of a dead one. */
  readonly why?: string | undefined;
  /** Of its permissions, those its owner has no more. */
  readonly lost: readonly string[];
}

/** Who is asking, and what its credential may do. */
export interface SessionWire {
  readonly user: { readonly id: string; readonly name: string; readonly display_name: string };
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly permissions: readonly string[];
  readonly expires_at: string | null;
  /** A person in a session, not a token. */
  readonly signed_in: boolean;
  readonly credential: "agent-token" | "operator-token" | "api-token" | "session";
  /** How commands are typed where Postern was started; `…` stands for what only people of the house are told. */
  readonly command?: string | undefined;
  /** Where the feed stands, for who may follow it: `Last-Event-ID` for what happens after this answer. */
  readonly last_event_id?: string | undefined;
}

/** Told once: whoever has the cookie alone is nobody. */
export interface SignedInWire extends SessionWire {
  /** For `x-postern-csrf`, with every request. */
  readonly csrf: string;
}

export function accountToWire(account: Account): AccountWire {
  const { id, name, displayName, tenant, roles, groups, disabled, signsIn, createdAt } = account;
  return {
    id,
    name,
    display_name: displayName,
    tenant,
    roles,
    groups,
    disabled,
    signs_in: signsIn,
    created_at: iso(createdAt),
  };
}

export function tokenToWire(token: ApiToken): TokenWire {
  const { createdAt, expiresAt, revokedAt, lastUsedAt, ...same } = token;
  return {
    ...same,
    created_at: iso(createdAt),
    expires_at: iso(expiresAt),
    ...(revokedAt !== undefined && { revoked_at: iso(revokedAt) }),
    ...(lastUsedAt !== undefined && { last_used_at: iso(lastUsedAt) }),
  };
}

export function listedTokenToWire({ state, why, lost, ...token }: ListedToken): ListedTokenWire {
  return { ...tokenToWire(token), state, ...(why !== undefined && { why }), lost };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
