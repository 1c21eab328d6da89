import { type Clock, defined } from "@postern/core";
import { Lease } from "../store/lease.ts";
import type { Store } from "../store/store.ts";
import type { SignInNeeded } from "../tools/sign-in-needed.ts";
import { type ConnectionOwner, type ConnectionRepository, nameOf, type StoredGrant } from "./connection-repository.ts";
import { newSignIn, type OAuthServer, refreshed, type ServerChallenge, ServerSignIn } from "./sign-in.ts";

/** A token that ends within this time is renewed before it is used. */
const earlyMs = 5_000;
/** While another process renews a token, it is looked for this often. */
const lookEveryMs = 100;

/** What an access needs of its server. */
export interface AccessParts {
  readonly clock: Clock;
  readonly store: Pick<Store, "leases">;
  readonly log: (problem: string) => void;
  readonly repository: ConnectionRepository;
  /** Digest of the server's address. */
  readonly address: string;
  readonly isWithoutPerson: boolean;
  /** With references resolved. */
  readonly server: () => Promise<OAuthServer>;
  /** What refusals of the server asked for. */
  readonly challenge: ServerChallenge;
  readonly challenged: (challenge: ServerChallenge) => void;
  /** @param why what the server asks for beside a first sign-in */
  readonly needed: (owner: ConnectionOwner | undefined, why?: string) => SignInNeeded;
  /** Called when the authorization server has refused the tokens, and they are deleted. */
  readonly lost: (owner: ConnectionOwner) => Promise<void>;
}

/**
 * The tokens of one person, or of all, at one server. All requests of an owner share it, so one refresh serves them all.
 * Of several processes on the store one renews, by a lease; the others use the token that it left in the store.
 */
export class ServerAccess {
  readonly #name: string;
  readonly #owner: ConnectionOwner | undefined;
  readonly #parts: AccessParts;
  #renewing: Promise<string> | undefined;

  /** @param owner undefined if no person has signed in yet */
  constructor(name: string, owner: ConnectionOwner | undefined, parts: AccessParts) {
    this.#name = name;
    this.#owner = owner;
    this.#parts = parts;
  }

  /** `fetch` with the owner's token, only to the server's own origin. A refused token is renewed once. */
  authorize(send: typeof fetch, origin: string): typeof fetch {
    return async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      if (url.origin !== origin) return send(input, init);
      const token = await this.#token().catch(notRun);
      const response = await send(input, withToken(init, token));
      if (response.status === 403) await this.#checkScope(response);
      if (response.status !== 401) return response;
      const next = await this.#afterRefusal(response, token).catch(notRun);
      await response.body?.cancel();
      return send(input, withToken(init, next));
    };
  }

  get #grant(): StoredGrant | undefined {
    const { repository, address } = this.#parts;
    return this.#owner && repository.get(this.#name, this.#owner, address)?.grant;
  }

  /** Another process may have changed it a moment ago. */
  async #newest(): Promise<StoredGrant | undefined> {
    const { repository, address } = this.#parts;
    return (await repository.newest(this.#name, this.#owner ?? "server", address))?.grant;
  }

  async #token(): Promise<string | undefined> {
    const grant = this.#grant;
    if (grant === undefined) return undefined; // the server's refusal says where tokens come from
    const { tokens } = grant;
    const mayRenew = this.#parts.isWithoutPerson || tokens.refresh_token !== undefined;
    return mayRenew && this.#isOver(grant) ? this.#renewed(tokens.access_token) : tokens.access_token;
  }

  /** @returns the token to send the request with again */
  async #afterRefusal(response: Response, used: string | undefined): Promise<string> {
    const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
    this.#parts.challenged(extractWWWAuthenticateParams(response));
    const grant = await this.#newest();
    const { tokens } = grant ?? {};
    if (tokens !== undefined && tokens.access_token !== used) return tokens.access_token; // renewed meanwhile
    if (this.#parts.isWithoutPerson || tokens?.refresh_token !== undefined) return this.#renewed(used);
    await response.body?.cancel();
    if (grant !== undefined) await this.#drop(grant);
    throw this.#parts.needed(this.#owner);
  }

  async #checkScope(response: Response): Promise<void> {
    const { extractWWWAuthenticateParams, computeScopeUnion } = await import("@modelcontextprotocol/client");
    const { error, scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    if (error !== "insufficient_scope" || this.#parts.isWithoutPerson) return;
    await response.body?.cancel();
    const wanted = computeScopeUnion(this.#grant?.tokens.scope, scope);
    this.#parts.challenged({ resourceMetadataUrl, scope: wanted });
    await this.#parts.repository.change(this.#name, this.#owner ?? "server", (now) =>
      now === undefined || now.wanted === wanted ? now : { ...now, ...defined({ wanted }) },
    );
    throw this.#parts.needed(this.#owner, scope === undefined ? "more permissions" : `the permissions \`${scope}\``);
  }

  #isOver({ expiresAt = Number.POSITIVE_INFINITY }: StoredGrant): boolean {
    return expiresAt - earlyMs <= this.#parts.clock.now();
  }

  /** Requests that need a new token at the same time share one renewal. */
  #renewed(used: string | undefined): Promise<string> {
    this.#renewing ??= this.#renewedByOne(used).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** @param used the token that is over, or was refused */
  async #renewedByOne(used: string | undefined): Promise<string> {
    const { store, clock, log } = this.#parts;
    const name = `connection ${nameOf(this.#name, this.#owner ?? "server")}`;
    for (;;) {
      await using lease = await new Lease({ store, clock, log, name }).open();
      const grant = await this.#newest();
      const isNew = grant !== undefined && grant.tokens.access_token !== used && !this.#isOver(grant);
      if (isNew) return grant.tokens.access_token;
      if (lease.isOwner) return await this.#renew(grant);
      await new Promise<void>((resolve) => void clock.in(lookEveryMs, resolve));
    }
  }

  async #renew(before: StoredGrant | undefined): Promise<string> {
    const { isWithoutPerson, clock, server, challenge } = this.#parts;
    let grant: StoredGrant | undefined;
    try {
      if (isWithoutPerson)
        grant = await new ServerSignIn(await server(), newSignIn(challenge)).withCredentials(clock.now());
      else grant = before && (await refreshed(await server(), before, clock.now()));
    } catch (error) {
      const message = `the authorization server of \`${this.#name}\` gave no token: ${messageOf(error)}`;
      throw new Error(message, { cause: error });
    }
    if (grant !== undefined && (await this.#replace(before, grant))) return grant.tokens.access_token;
    if (grant === undefined && before !== undefined) await this.#drop(before);
    throw this.#parts.needed(this.#owner);
  }

  /** Resolves to false if the connection was revoked or made again meanwhile. */
  async #replace(before: StoredGrant | undefined, grant: StoredGrant): Promise<boolean> {
    const { repository, address, clock } = this.#parts;
    let isKept = false;
    await repository.change(this.#name, this.#owner ?? "server", (now) => {
      isKept = isSame(before, now?.grant);
      return isKept ? { since: clock.now(), ...now, server: this.#name, address, grant } : now;
    });
    return isKept;
  }

  async #drop(refused: StoredGrant): Promise<void> {
    const { repository, lost } = this.#parts;
    const owner = this.#owner ?? "server";
    let isDropped = false;
    await repository.change(this.#name, owner, (now) => {
      isDropped = isSame(refused, now?.grant);
      if (now === undefined || !isDropped) return now;
      const { grant: _, ...rest } = now;
      return rest.keys === undefined ? undefined : rest;
    });
    if (isDropped) await lost(owner);
  }
}

/** Each grant has a token of its own. */
function isSame(one: StoredGrant | undefined, other: StoredGrant | undefined): boolean {
  return one?.tokens.access_token === other?.tokens.access_token;
}

/** The server did not take the request, whatever went wrong after that. */
function notRun(error: unknown): never {
  if (error instanceof Error) throw Object.assign(error, { notExecuted: true });
  throw error;
}

function messageOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit | undefined {
  if (token === undefined) return init;
  const headers = new Headers(init?.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}
