import { RuntimeFault } from "@postern/core";
import type { SealedPlace } from "../secrets/sealed-file.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import type { SealedStore } from "../store/sealed-documents.ts";
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
import { moveOlderFile } from "./older-file.ts";
import { PendingSignIns } from "./pending-sign-ins.ts";

export interface ConnectionsOptions extends Omit<ConnectedServerParts, "repository" | "store"> {
  readonly openSealed: () => Promise<SealedStore>;
  /** Where an older Postern kept connections. */
  readonly olderFile: SealedPlace | undefined;
  readonly redactor: Redactor;
}

/** @throws RuntimeFault when an older file exists and cannot be opened */
export async function openConnections(
  servers: readonly ConnectableServer[],
  { openSealed, olderFile, redactor, ...parts }: ConnectionsOptions,
): Promise<OpenConnections> {
  if (olderFile !== undefined) await moveOlderFile(olderFile, openSealed, parts.log);
  const sealed = await openSealed();
  const repository = await ConnectionRepository.open({ sealed, redactor, log: parts.log });
  const { store } = sealed;
  const connected = servers.map(
    (server) => [server.name, new ConnectedServer(server, { ...parts, store, repository })] as const,
  );
  return new OpenConnections(new Map(connected), new PendingSignIns(sealed, parts));
}

export class OpenConnections implements Connections {
  readonly #servers: ReadonlyMap<string, ConnectedServer>;
  readonly #pending: PendingSignIns;

  constructor(servers: ReadonlyMap<string, ConnectedServer>, pending: PendingSignIns) {
    this.#servers = servers;
    this.#pending = pending;
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
    const { progress, url } = await server.begin(person, options);
    const begun = { server: name, address: server.address, person, progress };
    const binder = await this.#pending.add(server.ownerOf(person), begun);
    return { url: url.href, binder };
  }

  async finish(back: URLSearchParams, binder = ""): Promise<FinishedSignIn> {
    const begun = await this.#pending.take(back.get("state") ?? "", binder);
    const server = begun && this.#servers.get(begun.server);
    if (begun === undefined || server === undefined || server.address !== begun.address)
      return { refused: "begun in another browser, used or too old" };
    const { server: name, person, progress } = begun;
    try {
      await server.finish(progress, person, back);
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
    await this.#pending.remove(name, server.ownerOf(person));
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
}
