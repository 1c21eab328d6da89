import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { type Claims, signInAt } from "./openid-provider.ts";

export interface AuthorizationServerOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** Claims of the access token by login. */
  readonly users?: Readonly<Record<string, Claims>>;
  /** Default: what the client asks a token for. */
  readonly audience?: string;
  /** Default: a new one. */
  readonly key?: JWK;
}

/** Returns a private key that signs tokens. */
export async function signingKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
}

/** A real authorization server, and a person's browser at it. */
export class AuthorizationServer implements AsyncDisposable {
  readonly issuer: string;
  /** Private: a test signs with it what the server never would. */
  readonly key: JWK;
  readonly #child: ChildProcess;

  private constructor(issuer: string, key: JWK, child: ChildProcess) {
    this.issuer = issuer;
    this.key = key;
    this.#child = child;
  }

  static async start(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
    const { port = 0, users = {}, audience, key = await signingKey("first") } = options;
    const script = join(import.meta.dirname, "authorization-server-process.js");
    const child = spawn(process.execPath, [script, JSON.stringify({ port, keys: [key], users, audience })], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) if (line.startsWith("http://")) return new AuthorizationServer(line, key, child);
    throw new Error("The authorization server did not start.");
  }

  get port(): number {
    return Number(new URL(this.issuer).port);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** Connects a client that has no token: it is sent to sign in, and comes back with one. */
  async signIn(url: URL, login: string): Promise<{ readonly client: Client; readonly token: string }> {
    const provider = new ClientSide();
    const first = new StreamableHTTPClientTransport(url, { authProvider: provider });
    const refused = await newClient()
      .connect(first)
      .catch((error: unknown) => error);
    if (provider.sentTo === undefined) throw refused;
    const back = await signInAt(this.issuer, provider.sentTo.href, login);
    await first.finishAuth(back.searchParams);
    const client = newClient();
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
    return { client, token: provider.tokens()?.access_token ?? "" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function newClient(): Client {
  return new Client({ name: "developer", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
}

const redirectUrl = "http://127.0.0.1:1/callback";

/** What a client keeps of its registration and its tokens. */
class ClientSide implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = {
    ...{ client_name: "developer", redirect_uris: [redirectUrl], token_endpoint_auth_method: "none" },
    ...{ grant_types: ["authorization_code"], response_types: ["code"] },
  };
  sentTo: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = "";

  clientInformation(): OAuthClientInformationMixed | undefined {
    return this.#client;
  }
  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.#client = client;
  }
  tokens(): OAuthTokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }
  redirectToAuthorization(url: URL): void {
    this.sentTo = url;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}
