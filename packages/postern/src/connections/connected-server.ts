import { randomUUID } from "node:crypto";
import { type Clock, defined, type JsonObject, messageOf, RuntimeFault } from "@postern/core";
import type { Resolve } from "@postern/core/system";
import type { ResolveSecret } from "../secrets/lend.ts";
import { checkSecretValue } from "../secrets/secret-name.ts";
import { withSecrets } from "../secrets/secret-reference.ts";
import type { Store } from "../store/store.ts";
import { checkedFetch, isOwnMachine } from "../system/checked-fetch.ts";
import { SignInNeeded } from "../tools/sign-in-needed.ts";
import { ServerAccess } from "./access.ts";
import type { ConnectionOwner, ConnectionRepository, StoredConnection, StoredGrant } from "./connection-repository.ts";
import type { BeginOptions, ConnectionPerson, ConnectionState, OAuthConfig } from "./connections.ts";
import {
  newSignIn,
  type OAuthServer,
  revokedThere,
  type ServerChallenge,
  ServerSignIn,
  type SignInProgress,
} from "./sign-in.ts";

/** A configured server that people connect to, or that Postern itself signs in at. */
export interface ConnectableServer {
  readonly name: string;
  /** Digest of its address as it is configured. */
  readonly address: string;
  readonly url: () => Promise<URL>;
  readonly oauth: OAuthConfig | undefined;
  /** The names of the keys that each person enters. */
  readonly keys: readonly string[];
  /** Its authorization server may be a machine of this network. */
  readonly allowPrivate: boolean;
}

export interface ConnectedServerParts {
  readonly repository: ConnectionRepository;
  readonly store: Pick<Store, "leases">;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  readonly resolveSecret: ResolveSecret;
  /** Where people connect: the console's address. */
  readonly consoleUrl: () => string | undefined;
  readonly note: (type: string, summary: string, by: ConnectionPerson | undefined, data: JsonObject) => Promise<void>;
  readonly resolve?: Resolve | undefined;
}

/** One server and the connections to it. */
export class ConnectedServer {
  readonly #server: ConnectableServer;
  readonly #parts: ConnectedServerParts;
  readonly #accesses = new Map<string, ServerAccess>();
  #challenge: ServerChallenge = {};

  constructor(server: ConnectableServer, parts: ConnectedServerParts) {
    this.#server = server;
    this.#parts = parts;
  }

  /** Each person has a connection of their own. */
  get isPersonal(): boolean {
    const { oauth, keys } = this.#server;
    return keys.length > 0 || (oauth !== undefined && !this.#isWithoutPerson && oauth.per !== "server");
  }

  /** Whether it is shown to people. */
  get isShown(): boolean {
    return this.isPersonal || this.#signsIn;
  }

  ownerOf({ tenant, user }: ConnectionPerson): ConnectionOwner {
    return this.isPersonal ? { tenant, user } : "server"; // with its members in this order
  }

  /** Those whose connection is complete, the earliest first. */
  owners(): readonly ConnectionOwner[] {
    const { repository } = this.#parts;
    const { name, address } = this.#server;
    return repository.owners(name, address).filter((owner) => this.#isComplete(repository.get(name, owner, address)));
  }

  stateOf(person: ConnectionPerson): ConnectionState {
    const { name, oauth, keys } = this.#server;
    const found = this.#get(this.ownerOf(person));
    const connected = this.#isComplete(found);
    const scope = found?.grant?.tokens.scope ?? oauth?.scopes?.join(" ");
    return {
      ...{ server: name, per: this.isPersonal ? "user" : "server", signsIn: this.#signsIn, keys, connected },
      ...(connected && found !== undefined && { since: found.since }),
      ...(connected && scope !== undefined && { scopes: scope.split(" ") }),
    };
  }

  /** Returns undefined if a call for this person can go out. */
  missing(person: ConnectionPerson): SignInNeeded | undefined {
    if (!this.isShown) return undefined;
    const owner = this.ownerOf(person);
    return this.#isComplete(this.#get(owner)) ? undefined : this.#needed(owner);
  }

  /** @throws SignInNeeded */
  keyOf(owner: ConnectionOwner, key: string): string {
    const value = ownKey(this.#get(owner), key);
    if (value === undefined) throw this.#needed(owner);
    return value;
  }

  /** @param owner undefined while no person has signed in. Returns undefined for a server without OAuth. */
  access(owner: ConnectionOwner | undefined): ServerAccess | undefined {
    if (this.#server.oauth === undefined) return undefined;
    const key = JSON.stringify(owner ?? null);
    const access = this.#accesses.get(key) ?? new ServerAccess(this.#server.name, owner, this.#accessParts());
    this.#accesses.set(key, access);
    return access;
  }

  /** Digest of its address as it is configured. */
  get address(): string {
    return this.#server.address;
  }

  /** Called with the owner whose connection a person made, changed or ended. */
  follow(follower: (owner: ConnectionOwner) => void): void {
    if (this.isShown) this.#parts.repository.follow(this.#server.name, follower);
  }

  /** @throws RuntimeFault `connection_failed` */
  async begin(
    person: ConnectionPerson,
    options: BeginOptions,
  ): Promise<{ readonly progress: SignInProgress; readonly url: URL }> {
    const { name } = this.#server;
    if (!this.#signsIn)
      throw new RuntimeFault("request_invalid", `No person signs in at \`${name}\`; enter its keys instead.`);
    try {
      const signIn = new ServerSignIn(await this.#oauthServer(), newSignIn(await this.#known(person), options));
      const url = await signIn.begin();
      return { progress: signIn.progress, url };
    } catch (error) {
      const message = `A sign-in at \`${name}\` cannot be begun: ${reasonOf(error)}.`;
      throw new RuntimeFault("connection_failed", message, { cause: error });
    }
  }

  /** @throws what the SDK throws */
  async finish(progress: SignInProgress, person: ConnectionPerson, back: URLSearchParams): Promise<void> {
    const grant = await new ServerSignIn(await this.#oauthServer(), progress).finish(back, this.#parts.clock.now());
    await this.#keep(this.ownerOf(person), { grant });
    await this.#noted("made", person, { by: "sign-in" });
  }

  /** @throws RuntimeFault `request_invalid` */
  async enter(person: ConnectionPerson, keys: Readonly<Record<string, string>>): Promise<void> {
    const { name, keys: known } = this.#server;
    const odd = Object.keys(keys).find((key) => !known.includes(key));
    const names = known.map((key) => `\`${key}\``).join(", ") || "none";
    if (odd !== undefined || Object.keys(keys).length === 0)
      throw new RuntimeFault("request_invalid", `\`${name}\` takes these keys of a person: ${names}.`);
    for (const [key, value] of Object.entries(keys)) checkSecretValue(value, `${name}/${key}`);
    const owner = this.ownerOf(person);
    await this.#keep(owner, { keys });
    await this.#noted("made", person, { by: "key", keys: Object.keys(keys) });
  }

  /** Resolves to whether there was one. */
  async revoke(person: ConnectionPerson): Promise<boolean> {
    const { repository } = this.#parts;
    const owner = this.ownerOf(person);
    const { name, address, oauth } = this.#server;
    let found: StoredConnection | undefined;
    await repository.change(name, owner, (now) => {
      found = now?.address === address ? now : undefined;
      return found === undefined ? now : undefined;
    });
    if (found === undefined) return false;
    if (oauth?.clientId !== undefined && this.owners().length === 0)
      await repository.saveClient(name, ["configured", oauth.clientId], undefined);
    await this.#noted("revoked", person, {});
    if (found.grant !== undefined && oauth !== undefined) await this.#revokeThere(found.grant);
    return true;
  }

  get #isWithoutPerson(): boolean {
    return this.#server.oauth?.grant === "client_credentials";
  }

  get #signsIn(): boolean {
    return this.#server.oauth !== undefined && !this.#isWithoutPerson;
  }

  #get(owner: ConnectionOwner): StoredConnection | undefined {
    return this.#parts.repository.get(this.#server.name, owner, this.#server.address);
  }

  /** A server that was connected by a stored sign-in has refused nothing yet. */
  async #known(person: ConnectionPerson): Promise<ServerChallenge> {
    const { name, address } = this.#server;
    const { wanted } = (await this.#parts.repository.newest(name, this.ownerOf(person), address)) ?? {};
    const used = this.owners().map((owner) => this.#get(owner)?.grant?.discovery.resourceMetadataUrl);
    const resourceMetadataUrl = URL.parse(used.find((url) => url !== undefined) ?? "") ?? undefined;
    return { ...defined({ resourceMetadataUrl }), ...defined(this.#challenge), ...defined({ scope: wanted }) };
  }

  #isComplete(found: StoredConnection | undefined): boolean {
    if (this.#signsIn && found?.grant === undefined) return false;
    return this.#server.keys.every((key) => ownKey(found, key) !== undefined);
  }

  async #keep(
    owner: ConnectionOwner,
    more: { readonly grant?: StoredGrant; readonly keys?: StoredConnection["keys"] },
  ): Promise<void> {
    const { repository, clock } = this.#parts;
    const { name, address } = this.#server;
    const whose = owner === "server" ? {} : { person: owner };
    await repository.change(name, owner, (now) => {
      const { wanted, ...before }: Partial<StoredConnection> = now?.address === address ? now : whose;
      const keys = more.keys && { ...before.keys, ...more.keys };
      const made = { server: name, address, since: clock.now(), made: randomUUID() };
      return {
        ...before,
        ...made,
        ...defined({ ...more, keys, wanted: more.grant === undefined ? wanted : undefined }),
      };
    });
    if (more.grant !== undefined) this.#challenge = { resourceMetadataUrl: this.#challenge.resourceMetadataUrl };
  }

  /** @param by who did it; undefined for the loss of one that all share */
  async #noted(act: "made" | "revoked" | "lost", by: ConnectionPerson | undefined, data: JsonObject): Promise<void> {
    const { name } = this.#server;
    const whose = this.isPersonal && by !== undefined ? `of ${by.user}` : "for all";
    const summary = `Connection ${whose} to \`${name}\` ${act}`;
    await this.#parts.note(`connection.${act}`, summary, by, { server: name, ...data });
  }

  #needed(owner: ConnectionOwner | undefined, why?: string): SignInNeeded {
    const { name } = this.#server;
    const { consoleUrl } = this.#parts;
    const base = consoleUrl();
    const url = base === undefined ? undefined : `${base}/connections/${encodeURIComponent(name)}`;
    const who = owner === undefined || owner === "server" ? "a person" : `\`${owner.user}\``;
    const what = this.#signsIn ? "signs in" : "enters a key";
    const where = url === undefined ? "on the page Connections of Postern's console" : `at ${url}`;
    const message = `\`${name}\` asks for ${why ?? "a connection"}: it can be called when ${who} ${what} ${where}`;
    return new SignInNeeded(message, { server: name, ...(url !== undefined && { sign_in_url: url }) });
  }

  #accessParts(): ConstructorParameters<typeof ServerAccess>[2] {
    const { repository, store, clock, log } = this.#parts;
    const challenge = (): ServerChallenge => this.#challenge;
    return {
      ...{ repository, store, clock, log, address: this.#server.address, isWithoutPerson: this.#isWithoutPerson },
      server: () => this.#oauthServer(),
      get challenge() {
        return challenge();
      },
      challenged: (asked) => {
        this.#challenge = { ...this.#challenge, ...defined(asked) };
      },
      needed: (owner, why) => this.#needed(owner, why),
      lost: (owner) =>
        this.#noted("lost", owner === "server" ? undefined : owner, {
          why: "the authorization server refused its tokens",
        }),
    };
  }

  async #oauthServer(): Promise<OAuthServer> {
    const { name, oauth = {}, url: urlOf, allowPrivate } = this.#server;
    const { repository, resolveSecret, resolve } = this.#parts;
    const url = await urlOf();
    const secret = oauth.clientSecret;
    const clientSecret = secret === undefined ? undefined : await withSecrets(secret, resolveSecret);
    const fetch = checkedFetch({ allowPrivate: allowPrivate || (await isOwnMachine(url)), resolve });
    return { ...{ name, url, oauth, clientSecret }, fetch, repository };
  }

  async #revokeThere(grant: StoredGrant): Promise<void> {
    try {
      await revokedThere(await this.#oauthServer(), grant);
    } catch {
      // The secret or the address cannot be resolved. The tokens are deleted here, and end by themselves there.
    }
  }
}

function ownKey(found: StoredConnection | undefined, key: string): string | undefined {
  const { keys = {} } = found ?? {};
  return Object.hasOwn(keys, key) ? keys[key] : undefined;
}

export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${messageOf(error)}${cause}`.replace(/\.$/, "");
}
