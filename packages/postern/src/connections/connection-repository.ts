import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { digestOf } from "@postern/core/system";
import { learnAhead } from "../secrets/lend.ts";
import { changeSealed, openSealed, type SealedPlace } from "../secrets/sealed-file.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import type { ConnectionPerson } from "./connections.ts";

/** What a person has at one server. `person` is undefined for a connection that all share. */
export interface StoredConnection {
  readonly person?: ConnectionPerson;
  /** Digest of the server's address: a server at another address is another server. */
  readonly address: string;
  /** Wall clock, milliseconds. */
  readonly since: number;
  /** The keys that the person entered. */
  readonly keys?: Readonly<Record<string, string>>;
  readonly grant?: StoredGrant;
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

type Item =
  | { readonly kind: "connection"; readonly connection: StoredConnection }
  /** A client that was registered, or the authorization server that a configured client belongs to. */
  | { readonly kind: "client"; readonly client: StoredOAuthClientInformation };

/** Whose connection: a person's, or one that all share. */
export type ConnectionOwner = ConnectionPerson | "server";

/**
 * Connections and clients in a sealed file of their own: no tool and no configuration can name what is in it. They are also
 * in memory, and each change is on disk before it counts. Without a place they end with the process.
 */
export class ConnectionRepository {
  readonly #place: SealedPlace | undefined;
  readonly #redactor: Redactor;
  readonly #items: Map<string, Item>;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(place: SealedPlace | undefined, redactor: Redactor, items: Map<string, Item>) {
    this.#place = place;
    this.#redactor = redactor;
    this.#items = items;
    for (const item of items.values()) this.#learn(item);
  }

  /** @throws RuntimeFault when the file exists and cannot be opened */
  static async open(place: SealedPlace | undefined, redactor: Redactor): Promise<ConnectionRepository> {
    const opened = place && (await openSealed(place));
    const items = [...(opened?.entries ?? [])].map(([name, text]) => [name, JSON.parse(text) as Item] as const); // only this file writes it
    return new ConnectionRepository(place, redactor, new Map(items));
  }

  get(server: string, owner: ConnectionOwner, address: string): StoredConnection | undefined {
    const item = this.#items.get(nameOf(server, owner));
    return item?.kind === "connection" && item.connection.address === address ? item.connection : undefined;
  }

  /** The people with a connection, the earliest first. */
  owners(server: string, address: string): readonly ConnectionOwner[] {
    return [...this.#items]
      .flatMap(([name, item]) => (name.startsWith(`${server}/`) && item.kind === "connection" ? [item.connection] : []))
      .filter((connection) => connection.address === address)
      .sort((one, other) => one.since - other.since)
      .map(({ person = "server" as const }) => person);
  }

  client(server: string, key: readonly string[]): StoredOAuthClientInformation | undefined {
    const item = this.#items.get(clientName(server, key));
    return item?.kind === "client" ? item.client : undefined;
  }

  async saveClient(
    server: string,
    key: readonly string[],
    client: StoredOAuthClientInformation | undefined,
  ): Promise<void> {
    await this.#change(clientName(server, key), () => client && { kind: "client", client });
  }

  /**
   * @param next gets the stored connection and returns the one to store; the same object changes nothing
   */
  async change(
    server: string,
    owner: ConnectionOwner,
    next: (now: StoredConnection | undefined) => StoredConnection | undefined,
  ): Promise<void> {
    await this.#change(nameOf(server, owner), (item) => {
      const now = item?.kind === "connection" ? item.connection : undefined;
      const changed = next(now);
      return changed === now ? item : changed && { kind: "connection", connection: changed };
    });
  }

  /** One change after the other, here and in the file. */
  #change(name: string, next: (item: Item | undefined) => Item | undefined): Promise<void> {
    const made = this.#turn.then(() => this.#write(name, next));
    this.#turn = made.catch(() => undefined); // the caller receives the rejection
    return made;
  }

  async #write(name: string, next: (item: Item | undefined) => Item | undefined): Promise<void> {
    const now = this.#items.get(name);
    const item = next(now);
    if (item === now) return;
    if (item !== undefined) this.#learn(item);
    if (this.#place !== undefined)
      await changeSealed(this.#place, (entries) => {
        const others = [...entries].filter(([other]) => other !== name);
        return new Map(item === undefined ? others : [...others, [name, JSON.stringify(item)]]);
      });
    if (item === undefined) this.#items.delete(name);
    else this.#items.set(name, item);
  }

  #learn(item: Item): void {
    const { keys = {}, grant }: Partial<StoredConnection> = item.kind === "connection" ? item.connection : {};
    const { access_token, refresh_token, id_token }: Partial<StoredOAuthTokens> = grant?.tokens ?? {};
    const { client_secret: secret } = (item.kind === "client" ? item.client : grant?.client) ?? {};
    const values = [access_token, refresh_token, id_token, secret, ...Object.values(keys)];
    learnAhead(
      this.#redactor,
      values.filter((value) => value !== undefined),
    );
  }
}

function nameOf(server: string, owner: ConnectionOwner): string {
  return `${server}/${owner === "server" ? owner : `person-${digestOf([owner.tenant, owner.user])}`}`;
}

function clientName(server: string, key: readonly string[]): string {
  return `${server}/client-${digestOf([...key])}`;
}
