import type { Clock, JsonObject } from "@postern/core";
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { IssuerKeys, type IssuerKeysOptions, type KnownKeys } from "./issuer-keys.ts";
import { type ClaimNames, identityFrom, type TokenIdentity } from "./token-claims.ts";

/** Whose tokens are accepted at `/mcp`, and what they say. */
export interface ResourceServerSettings {
  /** Exactly as the claim `iss`. */
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ClaimNames;
  /** A token without all of them is refused. */
  readonly requiredScopes: readonly string[];
  /** What clients may ask for at sign-in, the required ones among them. */
  readonly scopes: readonly string[];
}

/** Why a token is refused. `message` is for people; it never holds the token. */
export interface TokenRefusal {
  readonly why: "invalid" | "expired" | "claim" | "scope" | "unreachable";
  readonly message: string;
}

/** A caller with a token of the authorization server. */
export interface SignedInCaller extends TokenIdentity {
  /** Wall clock, milliseconds: the token is refused from then on. */
  readonly until: number;
}

export interface ResourceServerOptions extends Omit<IssuerKeysOptions, "issuer"> {
  readonly clock: Clock;
}

/** Signatures by a private key that the issuer alone has. `none` and secrets (HS256) are not among them. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** How far the clocks of both machines may differ, in seconds. */
const toleranceSeconds = 5;
const accessTokenTypes: ReadonlySet<string> = new Set(["jwt", "at+jwt", "application/at+jwt"]);

/**
 * Postern as an OAuth 2.0 resource server: reads access tokens (JWT) of one authorization server.
 *
 * Invariant: nothing of a token is believed before its signature, issuer, audience and times are checked.
 */
export class ResourceServer {
  readonly settings: ResourceServerSettings;
  readonly #clock: Clock;
  readonly #keys: IssuerKeys;

  constructor(settings: ResourceServerSettings, options: ResourceServerOptions) {
    this.settings = settings;
    this.#clock = options.clock;
    this.#keys = new IssuerKeys({ ...options, issuer: settings.issuer });
  }

  /** Reads the keys, so that the operator learns of a wrong issuer at start. Does not throw. */
  async check(): Promise<void> {
    await this.#keys.current();
  }

  /**
   * The identifier of an endpoint, for which clients ask tokens.
   *
   * @param origin of this server as the client wrote it; the audience is used instead where it is the address of `/mcp`
   * @param server the upstream server of `/mcp/<server>`
   */
  resourceAt(origin: string, server?: string): string {
    const { audience } = this.settings;
    const all = isEndpoint(audience) ? audience : `${origin}/mcp`;
    return server === undefined ? all : `${all}/${server}`;
  }

  /** Checks a token and reads who calls. Does not throw for anything that a token or an issuer says. */
  async identify(token: string, server?: string): Promise<SignedInCaller | TokenRefusal> {
    const keys = await this.#keys.current();
    if (keys === undefined) return unreachable;
    const read = await this.#verify(token, keys, this.#options(server));
    if ("why" in read) return read;
    const { claims } = read;
    const identity = identityFrom(claims as JsonObject, this.settings.claims); // they were parsed from JSON
    if (typeof identity === "string") return { why: "claim", message: identity };
    const { requiredScopes } = this.settings;
    const missing = requiredScopes.filter((scope) => !identity.scopes.includes(scope));
    if (missing.length > 0)
      return {
        why: "scope",
        message: `This token has not the scope \`${missing.join("`, `")}\`; sign in again and ask for it.`,
      };
    return { ...identity, until: ((claims.exp ?? 0) + toleranceSeconds) * 1000 };
  }

  /** `/mcp` has the tools of all servers, so its tokens are good for each; a token for one server is good for that one. */
  #options(server: string | undefined): JWTVerifyOptions {
    const { issuer, audience } = this.settings;
    const own = server !== undefined && isEndpoint(audience) ? [`${audience}/${server}`] : [];
    return {
      ...{ issuer, audience: [audience, ...own], algorithms, clockTolerance: toleranceSeconds },
      currentDate: new Date(this.#clock.now()),
      requiredClaims: ["exp"],
    };
  }

  async #verify(token: string, keys: KnownKeys, options: JWTVerifyOptions): Promise<VerifiedClaims | TokenRefusal> {
    const { jwtVerify, errors } = await import("jose");
    try {
      return accessToken(await jwtVerify(token, keys.find, options));
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) return refusalOf(error);
      const newer = await this.#keys.newerThan(keys);
      if (newer === undefined) return unreachable;
      return newer === keys ? refusalOf(error) : this.#verify(token, newer, options);
    }
  }
}

interface VerifiedClaims {
  readonly claims: JWTPayload;
}

const unreachable: TokenRefusal = {
  why: "unreachable",
  message: "The authorization server cannot be asked for its keys now; send the request again later.",
};

/** An ID token tells a client who signed in. It is no permission to call, although its signature is right. */
function accessToken({ payload, protectedHeader }: JWTVerifyResult): VerifiedClaims | TokenRefusal {
  const { typ = "JWT" } = protectedHeader;
  const isIdToken = ["nonce", "at_hash", "c_hash"].some((claim) => Object.hasOwn(payload, claim));
  if (accessTokenTypes.has(typ.toLowerCase()) && !isIdToken) return { claims: payload };
  return {
    why: "invalid",
    message: "This is a token of the authorization server, but no access token; send the access token.",
  };
}

const claimMessages: Readonly<Record<string, string>> = {
  aud: "This token is for another service: its `aud` does not name Postern. Sign in again.",
  iss: "This token is of another authorization server. Sign in again.",
  nbf: "This token is not valid yet: check the clocks of both machines.",
  exp: "This token has no `exp`; the authorization server must set it.",
};

/** Every failure is the token's: keys were read, and what the library throws depends on the token alone. */
function refusalOf(error: unknown): TokenRefusal {
  const { code = "", claim = "" } = error as { readonly code?: string; readonly claim?: string }; // of the library, or absent
  if (code === "ERR_JWT_EXPIRED")
    return { why: "expired", message: "This token has expired; refresh it, or sign in again." };
  const message =
    claimMessages[claim] ??
    "This is no valid token of the authorization server: it is mistyped, cut, forged, or signed with a key or an algorithm that is not accepted. Sign in again.";
  return { why: "invalid", message };
}

/** Whether an audience is the address of `/mcp`, so that `/mcp/<server>` has one of its own. */
function isEndpoint(audience: string): boolean {
  const url = URL.parse(audience);
  return url !== null && /^https?:$/.test(url.protocol) && audience.endsWith("/mcp") && url.search === "";
}

/** What an operator should know at start of an audience that no client will ask for. Undefined: nothing. */
export function audienceProblem(audience: string, publicUrl: string | undefined): string | undefined {
  const url = URL.parse(audience);
  if (url === null || publicUrl === undefined || audience === `${publicUrl}/mcp`) return undefined;
  const isHere = url.origin === publicUrl;
  if (!isHere && !isEndpoint(audience)) return undefined; // a name that the authorization server has for Postern
  return `\`oauth.audience\` is \`${audience}\`, but developers reach Postern at \`${publicUrl}/mcp\` (\`listen.public_url\`). Clients ask for tokens for that address; write it as \`oauth.audience\`.`;
}
