import { type Clock, isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";
import type { Resolve } from "@postern/core/system";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { checkedFetch } from "../system/checked-fetch.ts";

export interface IssuerKeysOptions {
  readonly issuer: string;
  readonly clock: Clock;
  /** Told once about each problem of the issuer. */
  readonly onProblem?: (problem: string) => void;
  readonly resolve?: Resolve;
}

/** The keys that were read last. */
export interface KnownKeys {
  readonly find: JWTVerifyGetKey;
  /** Monotonic milliseconds. */
  readonly readAt: number;
}

const freshMs = 10 * 60_000;
/** How long keys are used while the issuer cannot be asked. */
const usableMs = 60 * 60_000;
/** Between two requests to the issuer, whatever its tokens say or however it fails. */
export const pauseMs = 10_000;

/**
 * The public keys of an issuer, read when the first token needs them.
 *
 * Invariant: at most one reading at a time, and one in ten seconds, so tokens with invented key ids cannot flood the issuer.
 */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #known: KnownKeys | undefined;
  #reading: Promise<KnownKeys | undefined> | undefined;
  /** Monotonic milliseconds. */
  #failedAt = Number.NEGATIVE_INFINITY;
  readonly #told = new Set<string>();

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** Returns undefined while the issuer cannot be asked and no keys of the last hour are known. */
  async current(): Promise<KnownKeys | undefined> {
    const known = this.#known;
    if (known !== undefined && this.#age(known.readAt) < freshMs) return known;
    const read = await this.#readAtMostOnce();
    if (read !== undefined) return read;
    return known !== undefined && this.#age(known.readAt) < usableMs ? known : undefined;
  }

  /** Reads the keys again, for a token whose key is not among them. Returns `known` if they were read a moment ago. */
  async newerThan(known: KnownKeys): Promise<KnownKeys | undefined> {
    if (this.#known !== known && this.#known !== undefined) return this.#known;
    return this.#age(known.readAt) < pauseMs ? known : this.#readAtMostOnce();
  }

  #age(at: number): number {
    return this.#options.clock.monotonic() - at;
  }

  async #readAtMostOnce(): Promise<KnownKeys | undefined> {
    if (this.#reading === undefined && this.#age(this.#failedAt) < pauseMs) return undefined;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<KnownKeys | undefined> {
    const { issuer, clock, onProblem } = this.#options;
    try {
      const { createLocalJWKSet } = await import("jose");
      const set = await this.#json(await this.#jwksUri());
      const find = createLocalJWKSet(set as unknown as JSONWebKeySet); // it checks the form
      this.#known = { find, readAt: clock.monotonic() };
      return this.#known;
    } catch (error) {
      this.#failedAt = clock.monotonic();
      const problem = `\`oauth.issuer\` \`${issuer}\` cannot be asked for its keys: ${messageOf(error)} Until then, its tokens get 503 at \`/mcp\`.`;
      if (!this.#told.has(problem)) onProblem?.(problem);
      if (this.#told.size < 100) this.#told.add(problem);
      return undefined;
    }
  }

  /** OpenID providers have the first document; RFC 8414 names the second. */
  async #jwksUri(): Promise<string> {
    const { issuer } = this.#options;
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/+$/, "");
    const wanted = `${origin}${path}/.well-known/openid-configuration`;
    const metadata = await this.#json(wanted).catch((error: unknown) =>
      this.#json(`${origin}/.well-known/oauth-authorization-server${path}`).catch(() => Promise.reject(error)),
    );
    const { issuer: stated, jwks_uri: jwksUri } = metadata;
    if (stated !== issuer)
      throw new Error(
        `its metadata names the issuer ${JSON.stringify(stated ?? null)}; write that text, or the right address.`,
      );
    if (typeof jwksUri !== "string") throw new Error("its metadata has no `jwks_uri`.");
    return jwksUri;
  }

  /** Only the configured origin may be a machine of this network. Redirects are not followed. */
  async #json(address: string): Promise<JsonObject> {
    const { issuer, resolve } = this.#options;
    const allowPrivate = URL.parse(address)?.origin === new URL(issuer).origin;
    const response = await checkedFetch({ allowPrivate, resolve })(address);
    if (response.status !== 200) throw new Error(`\`${address}\` answered ${response.status}.`);
    const value = (await response.json()) as Json; // it is read from JSON
    if (!isJsonObject(value)) throw new Error(`\`${address}\` answered no JSON object.`);
    return value;
  }
}
