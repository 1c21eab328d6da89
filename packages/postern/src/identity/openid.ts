import { type Clock, isJsonObject, messageOf, type Role, RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { Configuration, IDToken } from "openid-client";
import { Collection } from "../store/collection.ts";
import type { SealedStore } from "../store/sealed-documents.ts";
import { seal, unseal } from "../system/sealed-bytes.ts";
import type { OpenIdFinished, OpenIdFrom, OpenIdPerson, OpenIdRedirect, OpenIdSignIn } from "./accounts.ts";
import { Tries } from "./tries.ts";

/**
 * A provider, and who may sign in with it.
 *
 * @public
 */
export interface OpenIdSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** A value, or `secret://connector/key`. Undefined for a public client. */
  readonly clientSecret?: string | undefined;
  readonly label: string;
  readonly scopes: readonly string[];
  /** The claim that is the login name. Default: the verified e-mail address, else `preferred_username`. */
  readonly nameClaim?: string | undefined;
  readonly rolesClaim?: string | undefined;
  /** The roles for each value of that claim. */
  readonly roles: Readonly<Record<string, readonly Role[]>>;
  readonly defaultRoles: readonly Role[];
  readonly groupsClaim?: string | undefined;
  /** Domains of verified e-mail addresses. Without it, any person may sign in and no address is needed. */
  readonly allowedDomains?: readonly string[] | undefined;
  readonly unknown: "refuse" | "create";
  readonly tenant: string;
}

interface OpenIdOptions {
  readonly clock: Clock;
  /** Returns the value of `secret://…`. */
  readonly resolve: (text: string) => Promise<string>;
  /** Gateways on one store have one, so that a sign-in which was begun at one ends at any. */
  readonly sealed: () => Promise<SealedStore>;
}

type Library = typeof import("openid-client");
type IdTokenClaims = Readonly<Record<string, unknown>> & Pick<IDToken, "sub">;

const patienceMs = 10 * 60_000;

/**
 * The authorization code flow with PKCE, `state` and `nonce`. The state is sealed and kept by the browser that began,
 * so many beginnings cannot displace another's. Each state is finished once, whatever the result.
 * Contract: `finish` does not throw for anything that a browser or a provider sends.
 */
export class OpenId implements OpenIdSignIn {
  readonly #settings: OpenIdSettings;
  readonly #options: OpenIdOptions;
  readonly #tries: Tries;
  #provider: Promise<{ readonly library: Library; readonly configuration: Configuration }> | undefined;

  constructor(settings: OpenIdSettings, options: OpenIdOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#tries = new Tries(options.clock);
  }

  get label(): string {
    return this.#settings.label;
  }

  async begin({ redirectUri, to, address }: OpenIdFrom): Promise<OpenIdRedirect> {
    if (this.#tries.isOver(address)) return { refused: "too_many" };
    this.#tries.count(address);
    const { library, configuration } = await this.#asked();
    const [state, nonce, verifier] = [library.randomState(), library.randomNonce(), library.randomPKCECodeVerifier()];
    const { pending, now } = await this.#pending();
    const until = now + patienceMs;
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      response_type: "code",
      scope: this.#settings.scopes.join(" "),
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    });
    return { url: url.href, binder: pending.seal({ redirectUri, to, state, verifier, nonce, until }) };
  }

  async finish(back: URLSearchParams, binder: string | undefined): Promise<OpenIdFinished> {
    const state = back.get("state") ?? "";
    // Used up now, also when a later step fails, so a code that is sent again finds nothing.
    const { pending, now } = await this.#pending();
    const begun = await pending.take(binder ?? "", state, now);
    if (begun === undefined) return { refused: "begun in another browser, used or too old" };
    try {
      const claims = await this.#claims(back, begun);
      const person = personFrom(claims, this.#settings);
      return "refused" in person ? person : { person, to: begun.to };
    } catch (error) {
      return { refused: messageOf(error) };
    }
  }

  async #claims(back: URLSearchParams, { redirectUri, state, verifier, nonce }: PendingSignIn): Promise<IdTokenClaims> {
    const { library, configuration } = await this.#asked();
    const url = new URL(redirectUri);
    url.search = back.toString();
    const tokens = await library.authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("the provider sent no ID token");
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const more = await library.fetchUserInfo(configuration, tokens.access_token, claims.sub);
    return { ...more, ...claims };
  }

  /** Discovers the provider at the first sign-in, and again after a failure, so that Postern starts without it. */
  async #asked(): Promise<{ readonly library: Library; readonly configuration: Configuration }> {
    this.#provider ??= this.#discover();
    try {
      return await this.#provider;
    } catch (error) {
      this.#provider = undefined;
      if (error instanceof RuntimeFault) throw error;
      throw new RuntimeFault(
        "openid_unreachable",
        `The OpenID provider \`${this.#settings.issuer}\` cannot be asked: ${messageOf(error)}.`,
        { cause: error },
      );
    }
  }

  async #discover(): Promise<{ readonly library: Library; readonly configuration: Configuration }> {
    const library = await load();
    const { issuer, clientId, clientSecret } = this.#settings;
    const secret = clientSecret === undefined ? undefined : await this.#options.resolve(clientSecret);
    const configuration = await library.discovery(
      new URL(issuer),
      clientId,
      secret,
      secret === undefined ? library.None() : undefined,
      { timeout: 10, ...(isLoopback(issuer) && { execute: [library.allowInsecureRequests] }) },
    );
    return { library, configuration };
  }

  async #pending(): Promise<{ readonly pending: PendingSignInSeal; readonly now: number }> {
    const sealed = await this.#options.sealed();
    const { clock = this.#options.clock } = sealed.store;
    return { pending: new PendingSignInSeal(sealed), now: clock.now() };
  }
}

async function load(): Promise<Library> {
  try {
    return await import("openid-client");
  } catch (error) {
    throw new RuntimeFault("dependency_missing", packageMissing, { cause: error });
  }
}

const packageMissing = "Signing in with OpenID needs the package `openid-client`: run `npm install openid-client`.";

/** What an operator must install before anyone can sign in with OpenID. Loads nothing. */
export function missingPackage(): string | undefined {
  try {
    import.meta.resolve("openid-client");
    return undefined;
  } catch {
    return packageMissing; // sign-in itself would fail the same way
  }
}

/** Only a provider on this machine may go without TLS. */
export function isLoopback(issuer: string): boolean {
  return /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:\/|$)/.test(issuer);
}

function personFrom(claims: IdTokenClaims, settings: OpenIdSettings): OpenIdPerson | { readonly refused: string } {
  const { issuer, allowedDomains, defaultRoles, unknown, tenant, groupsClaim, rolesClaim } = settings;
  const email = claims["email_verified"] === true ? text(claims["email"])?.toLowerCase() : undefined;
  const domain = email?.slice(email.lastIndexOf("@") + 1);
  if (allowedDomains !== undefined && !allowedDomains.some((allowed) => allowed.toLowerCase() === domain))
    return { refused: `the domain of ${email ?? "no verified e-mail address"} is not allowed` };
  const name =
    settings.nameClaim === undefined ? (email ?? text(claims["preferred_username"])) : text(claims[settings.nameClaim]);
  if (name === undefined) return { refused: "the provider sent no name" };
  return {
    issuer,
    subject: claims.sub,
    name,
    displayName: shownName(claims) ?? name,
    ...(rolesClaim !== undefined && { roles: rolesFrom(claims[rolesClaim], settings) }),
    ...(groupsClaim !== undefined && { groups: words(claims[groupsClaim]) }),
    firstRoles: defaultRoles,
    tenant,
    unknown,
  };
}

function rolesFrom(claim: unknown, { roles, defaultRoles }: OpenIdSettings): readonly Role[] {
  const held = words(claim).flatMap((word) => (Object.hasOwn(roles, word) ? (roles[word] ?? []) : []));
  return [...new Set([...defaultRoles, ...held])];
}

function shownName(claims: IdTokenClaims): string | undefined {
  const name = text(claims["name"])
    ?.replaceAll(/[\p{Cc}\p{Cf}]/gu, "")
    .trim();
  return name === undefined || name === "" ? undefined : name.slice(0, 100);
}

function words(claim: unknown): readonly string[] {
  const all = typeof claim === "string" ? [claim] : Array.isArray(claim) ? claim : [];
  return all.filter((word): word is string => typeof word === "string");
}

function text(claim: unknown): string | undefined {
  return typeof claim === "string" && claim !== "" ? claim : undefined;
}

/** A sign-in at a provider that has not come back. */
export interface PendingSignIn {
  readonly redirectUri: string;
  readonly to: string;
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
}

const about = "OpenID sign-in";

/** States that came back, and until when they would have been valid, in milliseconds. */
type UsedStates = Readonly<Record<string, number>>;

/**
 * Seals the state of sign-ins. The browser keeps it in a cookie, so there is no table here that others could fill, and
 * no one else can read or make it. Only what came back is in the store.
 * Invariant: each opens once, before its end, on whichever Posterns share the store.
 */
export class PendingSignInSeal {
  readonly #key: Uint8Array;
  readonly #used: Collection<UsedStates>;

  constructor({ store, key }: SealedStore) {
    this.#key = key;
    this.#used = new Collection({ store, kind: "openid_used", read: (body) => body as UsedStates }); // only `take` writes it
  }

  seal(begun: PendingSignIn): string {
    return Buffer.from(seal(Buffer.from(JSON.stringify(begun)), about, this.#key)).toString("base64url");
  }

  /** Opens it and uses it up. Resolves to undefined when it is invalid, for another state, expired, or used. */
  async take(sealed: string, state: string, now: number): Promise<PendingSignIn | undefined> {
    const begun = this.#read(sealed);
    if (begun === undefined || begun.state !== state || begun.until <= now) return undefined;
    const hash = sha256(state);
    const { changed } = await this.#used.change(hash.slice(0, 1), (used = {}) => {
      if (Object.hasOwn(used, hash)) return undefined;
      const valid = Object.entries(used).filter(([, until]) => until > now);
      return { item: { ...Object.fromEntries(valid), [hash]: begun.until }, durability: "synced" };
    });
    return changed ? begun : undefined;
  }

  #read(sealed: string): PendingSignIn | undefined {
    const bytes = unseal(Buffer.from(sealed, "base64url"), about, this.#key);
    if (bytes === undefined) return undefined; // no Postern on this store sealed it
    const body: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isJsonObject(body) ? (body as unknown as PendingSignIn) : undefined; // only `seal` makes it
  }
}
