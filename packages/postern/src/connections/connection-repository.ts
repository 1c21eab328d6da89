import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { digestOf } from "@postern/core/system";
import { learnAhead } from "../secrets/lend.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { Collection } from "../store/collection.ts";
import { LiveCollection } from "../store/live-collection.ts";
import { type SealedStore, sealedDocuments } from "../store/sealed-documents.ts";
import type { ConnectionPerson } from "./connections.ts";

/** What a person has at one server. `person` is undefined for a connection that all share. */
export interface StoredConnection {
  readonly server: string;
  readonly person?: ConnectionPerson;
  /** Digest of the server's address: a server at another address is another server. */
  readonly address: string;
  /** Wall clock, milliseconds. */
  readonly since: number;
  /** Names the sign-in or the entering of keys that made it; refreshed tokens keep it. */
  readonly made?: string;
  /** The keys that the person entered. */
  readonly keys?: Readonly<Record<string, string>>;
  readonly grant?: StoredGrant;
  /** Scopes that the server asked for since: the next sign-in asks for them, at whichever Postern it is begun. */
  readonly wanted?: string;
}

/** What a sign-in brought. */
export interface StoredGrant {
  readonly tokens: StoredOAuthTokens;
  /** Wall clock, milliseconds. */
  readonly expiresAt?: number;
  /** Where the tokens came from; they are refreshed and revoked there. */
  readonly discovery: OAuthDiscoveryState;
  readonly resource?: string;
  /** The registered client that they were given to; it stays good when another one is registered. */
  readonly client?: StoredOAuthClientInformation;
}

/** Whose connection: a person's, or one that all share. */
export type ConnectionOwner = ConnectionPerson | "server";

export interface ConnectionRepositoryOptions {
  readonly sealed: SealedStore;
  readonly redactor: Redactor;
  readonly log: (problem: string) => void;
}

type ConnectionFollower = (owner: ConnectionOwner) => void;

/**
 * Connections and clients, sealed in the store: no tool and no configuration can name what is in them. Connections are also
 * in memory, where changes of other processes on the store arrive.
 */
export class ConnectionRepository {
  readonly #connections: LiveCollection<StoredConnection | undefined>;
  /** Clients that were registered, and the authorization servers that configured clients belong to. */
  readonly #clients: Collection<StoredOAuthClientInformation | undefined>;
  /** What the followers know. */
  readonly #known = new Map<string, StoredConnection>();
  readonly #followers = new Map<string, ConnectionFollower[]>();

  private constructor({ sealed, redactor, log }: ConnectionRepositoryOptions) {
    const learn = (values: readonly (string | undefined)[]): void =>
      learnAhead(
        redactor,
        values.filter((value) => value !== undefined),
      );
    this.#connections = new LiveCollection({
      ...sealedDocuments<StoredConnection>(sealed, { kind: "connection", seen: (one) => learn(secretsIn(one)), log }),
      store: sealed.store,
      updated: (connection, id) => this.#changed(id, connection),
      removedElsewhere: (id) => this.#changed(id, undefined),
    });
    this.#clients = new Collection(
      sealedDocuments<StoredOAuthClientInformation>(sealed, {
        ...{ kind: "connection_client", seen: (client) => learn([client.client_secret]), log },
      }),
    );
  }

  static async open(options: ConnectionRepositoryOptions): Promise<ConnectionRepository> {
    const repository = new ConnectionRepository(options);
    await repository.#connections.readAll();
    return repository;
  }

  get(server: string, owner: ConnectionOwner, address: string): StoredConnection | undefined {
    return atAddress(this.#connections.at(nameOf(server, owner)), address);
  }

  /** As the store has it now. */
  async newest(server: string, owner: ConnectionOwner, address: string): Promise<StoredConnection | undefined> {
    return atAddress(await this.#connections.get(nameOf(server, owner)), address);
  }

  /** The people with a connection, the earliest first. */
  owners(server: string, address: string): readonly ConnectionOwner[] {
    return this.#connections.items
      .filter((connection) => connection !== undefined)
      .filter((connection) => connection.server === server && connection.address === address)
      .sort((one, other) => one.since - other.since)
      .map(({ person = "server" as const }) => person);
  }

  /** Called with the owner whose connection was made, changed or ended, here or by another process. */
  follow(server: string, follower: ConnectionFollower): void {
    this.#followers.set(server, [...(this.#followers.get(server) ?? []), follower]);
  }

  client(server: string, key: readonly string[]): Promise<StoredOAuthClientInformation | undefined> {
    return this.#clients.get(clientName(server, key));
  }

  async saveClient(
    server: string,
    key: readonly string[],
    client: StoredOAuthClientInformation | undefined,
  ): Promise<void> {
    await this.#clients.change(clientName(server, key), (before) =>
      before === undefined && client === undefined ? undefined : { item: client, durability: "synced" },
    );
  }

  /**
   * @param next gets the stored connection and returns the one to store; the same object changes nothing. It runs again
   * if another process was faster
   */
  async change(
    server: string,
    owner: ConnectionOwner,
    next: (now: StoredConnection | undefined) => StoredConnection | undefined,
  ): Promise<void> {
    await this.#connections.change(nameOf(server, owner), (now) => {
      const changed = next(now);
      return changed === now ? undefined : { item: changed, durability: "synced" };
    });
  }

  #changed(id: string, now: StoredConnection | undefined): void {
    const before = this.#known.get(id);
    if (now === undefined) this.#known.delete(id);
    else this.#known.set(id, now);
    const { server = "", person = "server" } = now ?? before ?? {};
    const isRefresh = before?.made === now?.made && (before?.grant === undefined) === (now?.grant === undefined);
    if (!isRefresh) for (const follower of this.#followers.get(server) ?? []) follower(person);
  }
}

function secretsIn({ keys = {}, grant }: StoredConnection): readonly (string | undefined)[] {
  const { access_token, refresh_token, id_token }: Partial<StoredOAuthTokens> = grant?.tokens ?? {};
  return [access_token, refresh_token, id_token, grant?.client?.client_secret, ...Object.values(keys)];
}

function atAddress(connection: StoredConnection | undefined, address: string): StoredConnection | undefined {
  return connection?.address === address ? connection : undefined;
}

/** The id of a connection. It says nothing about the person who does not know their name. */
export function nameOf(server: string, owner: ConnectionOwner): string {
  return `${server}/${owner === "server" ? owner : `person-${digestOf([owner.tenant, owner.user])}`}`;
}

function clientName(server: string, key: readonly string[]): string {
  return `${server}/client-${digestOf([...key])}`;
}
