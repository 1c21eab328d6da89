import { randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, RuntimeFault } from "@postern/core";
import type { SealedPlace } from "../secrets/sealed-file.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { type ConnectableServer, ConnectedServer, type ConnectedServerParts, reasonOf } from "./connected-server.ts";
import { ConnectionRepository } from "./connection-repository.ts";
import type {
  BeginOptions,
  ConnectionPerson,
  ConnectionState,
  Connections,
  FinishedSignIn,
  StartedSignIn,
} from "./connections.ts";
import type { ServerSignIn } from "./sign-in.ts";

const patienceMs = 10 * 60_000;

/** A sign-in that has not come back. */
interface OpenSignIn {
  readonly server: ConnectedServer;
  readonly name: string;
  readonly person: ConnectionPerson;
  readonly signIn: ServerSignIn;
  readonly state: string;
  readonly binder: string;
  /** Monotonic milliseconds. */
  readonly until: number;
}

export interface ConnectionsOptions extends Omit<ConnectedServerParts, "repository"> {
  /** Undefined: connections end with the process. */
  readonly place: SealedPlace | undefined;
  readonly redactor: Redactor;
}

/** @throws RuntimeFault when the sealed file exists and cannot be opened */
export async function openConnections(
  servers: readonly ConnectableServer[],
  { place, redactor, ...parts }: ConnectionsOptions,
): Promise<OpenConnections> {
  const repository = await ConnectionRepository.open(place, redactor);
  const connected = servers.map(
    (server) => [server.name, new ConnectedServer(server, { ...parts, repository })] as const,
  );
  return new OpenConnections(new Map(connected), parts.clock);
}

export class OpenConnections implements Connections {
  readonly #servers: ReadonlyMap<string, ConnectedServer>;
  readonly #clock: Clock;
  /** The last one of each owner at each server, so there are never more than connections. */
  readonly #pending = new Map<string, OpenSignIn>();

  constructor(servers: ReadonlyMap<string, ConnectedServer>, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** Returns undefined for a server that no one signs in at. */
  server(name: string): ConnectedServer | undefined {
    return this.#servers.get(name);
  }

  list(person: ConnectionPerson): readonly ConnectionState[] {
    return [...this.#servers.values()].filter(({ isShown }) => isShown).map((server) => server.stateOf(person));
  }

  async begin(name: string, person: ConnectionPerson, options: BeginOptions): Promise<StartedSignIn> {
    const server = this.#shown(name);
    const owner = server.ownerOf(person);
    const { signIn, url, state } = await server.begin(options);
    const binder = randomBytes(32).toString("base64url");
    const until = this.#clock.monotonic() + patienceMs;
    this.#pending.set(JSON.stringify([name, owner]), { server, name, person, signIn, state, binder, until });
    return { url: url.href, binder };
  }

  async finish(back: URLSearchParams, binder = ""): Promise<FinishedSignIn> {
    const begun = this.#take(back.get("state") ?? "", binder);
    if (begun === undefined) return { refused: "begun in another browser, used or too old" };
    const { server, name, person, signIn } = begun;
    try {
      await server.finish(signIn, person, back);
      return { server: name, person };
    } catch (error) {
      return { refused: reasonOf(error), server: name };
    }
  }

  async enter(
    name: string,
    person: ConnectionPerson,
    keys: Readonly<Record<string, string>>,
  ): Promise<ConnectionState> {
    const server = this.#shown(name);
    await server.enter(person, keys);
    return server.stateOf(person);
  }

  async revoke(name: string, person: ConnectionPerson): Promise<boolean> {
    const server = this.#shown(name);
    this.#pending.delete(JSON.stringify([name, server.ownerOf(person)]));
    return server.revoke(person);
  }

  #shown(name: string): ConnectedServer {
    const server = this.#servers.get(name);
    if (server?.isShown === true) return server;
    throw new RuntimeFault(
      "connection_unknown",
      `No person connects to a server \`${name.slice(0, 80)}\` here; \`postern connections\` lists where one does.`,
    );
  }

  /** Used up now, also if a later step fails: what is sent again finds nothing. Another browser does not use it up. */
  #take(state: string, binder: string): OpenSignIn | undefined {
    const found = [...this.#pending].find(([, begun]) => isSame(begun.state, state));
    if (found === undefined || !isSame(found[1].binder, binder)) return undefined;
    const [key, begun] = found;
    this.#pending.delete(key);
    return begun.until > this.#clock.monotonic() ? begun : undefined;
  }
}

function isSame(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
