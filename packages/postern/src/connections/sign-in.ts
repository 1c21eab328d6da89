import { randomBytes } from "node:crypto";
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { defined } from "@postern/core";
import type { ConnectionRepository, StoredGrant } from "./connection-repository.ts";
import type { BeginOptions, OAuthConfig } from "./connections.ts";

/** One server, as a sign-in needs it. */
export interface OAuthServer {
  readonly name: string;
  readonly url: URL;
  readonly oauth: OAuthConfig;
  /** The value behind `oauth.clientSecret`. */
  readonly clientSecret: string | undefined;
  /** Checks every address. */
  readonly fetch: typeof fetch;
  readonly repository: ConnectionRepository;
}

/**
 * What a sign-in knows, as plain JSON: any Postern on the store finishes it. The SDK changes it while it asks.
 */
export interface SignInProgress {
  readonly state: string;
  /** Without them no person signs in (client credentials). */
  readonly options?: BeginOptions;
  readonly challenge: { readonly resourceMetadataUrl?: string; readonly scope?: string };
  issuer?: string | undefined;
  verifier?: string;
  discovery?: OAuthDiscoveryState;
  resource?: string;
}

export function newSignIn({ resourceMetadataUrl, scope }: ServerChallenge, options?: BeginOptions): SignInProgress {
  return {
    state: randomBytes(32).toString("base64url"),
    challenge: defined({ resourceMetadataUrl: resourceMetadataUrl?.href, scope }),
    ...defined({ options }),
  };
}

/** What the server's last refusal asked for. */
export interface ServerChallenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

/** What Postern is to authorization servers. */
export function clientMetadataOf(
  redirectUri: string | undefined,
  scopes?: readonly string[],
): OAuthClientMetadata & { readonly client_name: string } {
  return {
    client_name: "Postern",
    redirect_uris: redirectUri === undefined ? [] : [redirectUri],
    grant_types: redirectUri === undefined ? ["client_credentials"] : ["authorization_code", "refresh_token"],
    ...(redirectUri !== undefined && { response_types: ["code"] }),
    ...(scopes !== undefined && { scope: scopes.join(" ") }),
  };
}

/** The client of a server: one for all people. */
class SharedClient {
  readonly #server: OAuthServer;
  readonly #redirectUri: string;

  constructor(server: OAuthServer, redirectUri = "") {
    this.#server = server;
    this.#redirectUri = redirectUri;
  }

  get isConfigured(): boolean {
    return this.#server.oauth.clientId !== undefined;
  }

  /**
   * A configured client belongs to the first authorization server that it signed in at: another one does not get its secret.
   * Returns undefined if it has to be registered, also for scopes that it was not registered for.
   */
  async get(issuer = "", scopes: readonly string[] = []): Promise<StoredOAuthClientInformation | undefined> {
    const { name, oauth, clientSecret, repository } = this.#server;
    const kept = await repository.client(name, this.#key(issuer));
    if (oauth.clientId === undefined) return kept !== undefined && isFor(kept, scopes) ? kept : undefined;
    const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
    return { client_id: oauth.clientId, ...secret, issuer: kept?.issuer ?? issuer };
  }

  async save(client: StoredOAuthClientInformation | undefined, issuer = ""): Promise<void> {
    await this.#server.repository.saveClient(this.#server.name, this.#key(issuer), client);
  }

  async bind(issuer: string): Promise<void> {
    const { clientId } = this.#server.oauth;
    if (clientId !== undefined) await this.save({ client_id: clientId, issuer }, issuer);
  }

  #key(issuer: string): readonly string[] {
    const { clientId } = this.#server.oauth;
    return clientId === undefined ? ["registered", issuer, this.#redirectUri] : ["configured", clientId];
  }
}

function isFor(
  { scope }: StoredOAuthClientInformation & { readonly scope?: unknown },
  wanted: readonly string[],
): boolean {
  if (typeof scope !== "string") return true;
  const registered = scope.split(" ");
  return wanted.every((one) => registered.includes(one));
}

/** One sign-in, from the first question to its tokens. The SDK asks it, and tells it what it found. */
export class ServerSignIn implements OAuthClientProvider {
  readonly clientMetadataUrl?: string;
  readonly saveClientInformation?: NonNullable<OAuthClientProvider["saveClientInformation"]>;
  readonly #server: OAuthServer;
  readonly #client: SharedClient;
  readonly progress: SignInProgress;
  #scopes: readonly string[] = [];
  #authorizationUrl: URL | undefined;
  #tokens: StoredOAuthTokens | undefined;

  /** @param progress of a new sign-in, or of one that was begun */
  constructor(server: OAuthServer, progress: SignInProgress) {
    const { options } = progress;
    this.#server = server;
    this.progress = progress;
    this.#client = new SharedClient(server, options?.redirectUri);
    if (options?.clientDocument !== undefined) this.clientMetadataUrl = options.clientDocument;
    if (!this.#client.isConfigured)
      this.saveClientInformation = (client, context) => this.#client.save(client, context?.issuer);
  }

  /** Where the person signs in. @throws what the SDK throws */
  async begin(): Promise<URL> {
    await this.#run({});
    const url = this.#authorizationUrl;
    if (url === undefined) throw new Error("the authorization server asks for no sign-in");
    if (!/^https?:$/.test(url.protocol)) throw new Error(`the sign-in page is at \`${url.protocol}\`, not at https`);
    return url;
  }

  /** @param back what the authorization server sent the browser back with; its state was checked */
  async finish(back: URLSearchParams, now: number): Promise<StoredGrant> {
    const code = back.get("code");
    if (code === null) {
      const why = /^[a-z_]{1,64}$/.exec(back.get("error") ?? "")?.[0] ?? "no code";
      throw new Error(`the authorization server answered \`${why}\``);
    }
    const iss = back.get("iss");
    await this.#run({ authorizationCode: code, ...(iss !== null && { iss }) });
    return this.#granted(now);
  }

  /** The tokens of the client itself. */
  async withCredentials(now: number): Promise<StoredGrant> {
    await this.#run({});
    return this.#granted(now);
  }

  get redirectUrl(): string | undefined {
    return this.progress.options?.redirectUri;
  }
  get clientMetadata(): OAuthClientMetadata {
    return clientMetadataOf(this.progress.options?.redirectUri, this.#server.oauth.scopes);
  }
  state(): string {
    return this.progress.state;
  }
  async clientInformation(context?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    this.progress.issuer = context?.issuer ?? this.progress.issuer;
    return this.#client.get(this.progress.issuer, this.#scopes);
  }
  /** A sign-in begins without tokens, so that it never becomes a refresh. */
  tokens(): undefined {}
  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    this.#tokens = tokens;
    if (tokens.issuer !== undefined) await this.#client.bind(tokens.issuer);
  }
  redirectToAuthorization(url: URL): void {
    this.#authorizationUrl = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.progress.verifier = verifier;
  }
  codeVerifier(): string {
    return this.progress.verifier ?? "";
  }
  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.progress.discovery = discovery;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.progress.discovery;
  }
  saveResourceUrl(resource: string): void {
    this.progress.resource = resource;
  }
  /** An authorization server that no longer knows the client: it is registered again. */
  async invalidateCredentials(what: string): Promise<void> {
    if (what === "client" && !this.#client.isConfigured) await this.#client.save(undefined, this.progress.issuer);
  }
  prepareTokenRequest(scope?: string): URLSearchParams | undefined {
    if (this.progress.options !== undefined) return undefined;
    return new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) });
  }

  async #run(more: { readonly authorizationCode?: string; readonly iss?: string }): Promise<void> {
    const { auth, computeScopeUnion } = await import("@modelcontextprotocol/client");
    const { url, oauth, fetch: fetchFn } = this.#server;
    const { resourceMetadataUrl, scope: asked } = this.progress.challenge;
    const scope = computeScopeUnion(oauth.scopes?.join(" "), asked);
    this.#scopes = scope?.split(" ") ?? [];
    await auth(this, {
      ...{ serverUrl: url, fetchFn, ...more },
      ...(scope !== undefined && scope !== "" && { scope }),
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl: new URL(resourceMetadataUrl) }),
    });
  }

  async #granted(now: number): Promise<StoredGrant> {
    const { discovery, resource } = this.progress;
    if (this.#tokens === undefined || discovery === undefined)
      throw new Error("the authorization server gave no token");
    const client = this.#client.isConfigured ? undefined : await this.clientInformation();
    return grantOf({ tokens: this.#tokens, discovery, now, resource, client });
  }
}

function grantOf(given: {
  readonly tokens: StoredOAuthTokens;
  readonly discovery: OAuthDiscoveryState;
  readonly resource: string | undefined;
  readonly client: StoredOAuthClientInformation | undefined;
  readonly now: number;
}): StoredGrant {
  const { tokens, discovery, resource, client, now } = given;
  return {
    tokens,
    discovery,
    ...(tokens.expires_in !== undefined && { expiresAt: now + tokens.expires_in * 1000 }),
    ...(resource !== undefined && { resource }),
    ...(client !== undefined && { client }),
  };
}

/** The client that the tokens were given to. */
async function clientOf(
  server: OAuthServer,
  { tokens, client }: StoredGrant,
): Promise<StoredOAuthClientInformation | undefined> {
  return client ?? new SharedClient(server).get(tokens.issuer);
}

/** Statuses below 500 that do not say that the token is refused. */
const notRefusals: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * New tokens for a grant. Returns undefined if the authorization server refuses them (4xx): the grant is over.
 *
 * @throws Error if it cannot be asked now; the grant may still be good
 */
export async function refreshed(
  server: OAuthServer,
  grant: StoredGrant,
  now: number,
): Promise<StoredGrant | undefined> {
  const { refreshAuthorization } = await import("@modelcontextprotocol/client");
  const { tokens, discovery, resource } = grant;
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovery;
  const client = await clientOf(server, grant);
  if (tokens.refresh_token === undefined || client === undefined || client.issuer !== tokens.issuer) return undefined;
  let status = 0;
  const fetchFn: typeof fetch = async (...asked) => {
    const response = await server.fetch(...asked);
    ({ status } = response);
    return response;
  };
  try {
    const fresh = await refreshAuthorization(authorizationServerUrl, {
      ...{ clientInformation: client, refreshToken: tokens.refresh_token, fetchFn },
      ...(metadata !== undefined && { metadata }),
      ...(resource !== undefined && { resource }),
    });
    const { issuer, scope } = tokens;
    const issued = { ...(scope !== undefined && { scope }), ...fresh, ...(issuer !== undefined && { issuer }) };
    return grantOf({ tokens: issued, discovery, resource, client: grant.client, now });
  } catch (error) {
    if (status >= 400 && status < 500 && !notRefusals.has(status)) return undefined;
    throw error;
  }
}

/** Tells the authorization server that the tokens are no longer used. Never throws: they are deleted here in any case. */
export async function revokedThere(server: OAuthServer, grant: StoredGrant): Promise<void> {
  const { tokens, discovery } = grant;
  const { authorizationServerMetadata: metadata } = discovery;
  const endpoint = metadata !== undefined && "revocation_endpoint" in metadata && metadata.revocation_endpoint;
  const client = await clientOf(server, grant);
  if (typeof endpoint !== "string" || client === undefined || client.issuer !== tokens.issuer) return;
  const { selectClientAuthMethod } = await import("@modelcontextprotocol/client");
  const method = selectClientAuthMethod(client, metadata?.token_endpoint_auth_methods_supported ?? []);
  const { client_id, client_secret = "" } = client;
  const pair = `${client_id}:${client_secret}`; // as the SDK writes it to the token endpoint
  const isBasic = method === "client_secret_basic";
  const body = {
    token: tokens.refresh_token ?? tokens.access_token,
    ...(!isBasic && { client_id }),
    ...(method === "client_secret_post" && { client_secret }),
  };
  await server
    .fetch(endpoint, {
      method: "POST",
      headers: isBasic ? { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } : {},
      body: new URLSearchParams(body),
    })
    .catch(ignored);
}

function ignored(): void {}
