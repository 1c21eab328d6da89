import { type Clock, SystemClock } from "@postern/core";
import type { ConnectionOwner } from "../../connections/connection-repository.ts";
import type { OpenConnections } from "../../connections/open-connections.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { Silhouettes } from "../../tools/names.ts";
import { checkServerName } from "../../tools/upstream-names.ts";
import { type NoteEvent, type ServerStatus, UpstreamConnection } from "./connection.ts";
import type { Revisions } from "./known-servers.ts";
import { SharedLimits, type SharedLimitsOptions } from "./limits/shared-limits.ts";
import { defaultStartTimeoutMs, McpUpstream } from "./mcp-upstream.ts";
import type { Pins } from "./pins.ts";
import { SpokenRevision } from "./revision.ts";
import { addressOf, checkProgram, type OpenApiAddress } from "./server-address.ts";
import type { ToolRegistrar } from "./server-collection.ts";
import { checkServer, invalid, type ServerConfig, withoutPersonalKeys, withPersonalKeys } from "./server-config.ts";
import type { Upstream, UpstreamEvents } from "./upstream.ts";

const mostWaitMs = 8_000;
/** When the first server is connected, the others may take as long again, but at least this. */
const leastForOthersMs = 4_000;

export interface ServersOptions {
  readonly registry: ToolRegistrar;
  readonly pins: Pins;
  /** The revisions that servers spoke before. */
  readonly revisions?: Revisions;
  /** Records that a server was connected, was lost or changed its tools. */
  readonly note: NoteEvent;
  /** The sign-ins of people at servers. */
  readonly connections?: OpenConnections | undefined;
  /** For `secret://connector/key` in a server's configuration. */
  readonly resolveSecret: ResolveSecret;
  /** Called with secret values that a configuration states or takes from the environment. */
  readonly learn?: (values: readonly string[]) => void;
  /** Masks known secrets in the last output of a server. */
  readonly redact?: (text: string) => string;
  /** Makes the connection to an API from its OpenAPI document. */
  readonly openApi: (address: OpenApiAddress, options: OpenApiOptions) => Promise<Upstream>;
  /** Other processes may use it too: then the limits of servers hold over all of them. */
  readonly store?: SharedLimitsOptions["store"];
  readonly log?: (problem: string) => void;
  /** How long `connectServers` waits for the servers. Slower ones are connected in the background. */
  readonly waitMs?: number | undefined;
  /** The most bytes of one answer. */
  readonly answerBytes?: number | undefined;
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface OpenApiOptions {
  readonly events: UpstreamEvents;
  readonly clock: Clock;
  /** The server's name in the configuration. */
  readonly name: string;
  readonly startTimeoutMs: number;
  readonly answerBytes: number | undefined;
}

/** All configured servers. A server that fails or crashes does not affect the others. */
export interface Servers extends AsyncDisposable {
  status(): readonly ServerStatus[];
  /** The server's own names of its tools. Returns undefined when they are not known yet, or the server is unknown. */
  listed(server: string): readonly string[] | undefined;
  /** Returns its state after the attempt, "busy" if its calls run, undefined if there is no such server. */
  reconnect(server: string): Promise<ServerStatus | "busy" | undefined>;
  /** Ends every connection and every child process, and waits for them. */
  close(): Promise<void>;
}

/**
 * Resolves when each server has been tried once, or some time after the first one is connected. Slow and failed servers are
 * connected in the background.
 *
 * @throws RuntimeFault `options_invalid` for a name that cannot be part of a tool's name, and for a server
 * without an address; nothing is started then
 */
export async function connectServers(
  configs: Readonly<Record<string, ServerConfig>>,
  options: ServersOptions,
): Promise<Servers> {
  const { clock = new SystemClock() } = options;
  const enabled = Object.entries(configs).filter(([, { enabled = true }]) => enabled);
  const names = new Silhouettes();
  for (const [name, config] of enabled) {
    checkServerName(name);
    const alike = names.alike(name);
    if (alike !== undefined)
      throw invalid(
        `Server \`${name}\` looks like server \`${alike}\`; a person could take one for the other. Rename it.`,
      );
    names.add(name);
    checkServer(name, config);
  }
  const limits = sharedLimits(enabled, options, clock);
  const connections = enabled.map(([name, config]) => connectionOf(name, config, { ...options, clock, limits }));
  await Promise.all(connections.map((connection) => connection.showPinned()));
  const needed = connections.filter(({ status }) => status.status !== "idle");
  const started = needed.map((connection) => {
    const attempt = connection.start();
    const { startTimeoutMs = defaultStartTimeoutMs } = configs[connection.name] ?? {};
    const bounded = atMost(startTimeoutMs, attempt, clock);
    options.registry.setServer(connection.name, "down", "it is still being connected", bounded);
    return { connection, attempt };
  });
  await firstAttempts(started, clock, options.waitMs ?? mostWaitMs);
  const close = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.close()));
    await limits?.[Symbol.asyncDispose]();
  };
  return {
    status: () => connections.map(({ status }) => status),
    listed: (server) => connections.find(({ name }) => name === server)?.listed,
    reconnect: async (server) => {
      const connection = connections.find(({ name }) => name === server);
      if (connection === undefined) return undefined;
      return (await connection.reconnect()) ? connection.status : "busy";
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sharedLimits(
  servers: readonly (readonly [string, ServerConfig])[],
  { store, log = ignored }: ServersOptions,
  clock: Clock,
): SharedLimits | undefined {
  if (store?.leases === undefined || servers.every(([, { limits }]) => limits === undefined)) return undefined;
  return new SharedLimits({ store, clock, log });
}

interface StartedConnection {
  readonly connection: UpstreamConnection;
  /** Its first attempt. */
  readonly attempt: Promise<void>;
}

async function atMost(ms: number, attempt: Promise<void>, clock: Clock): Promise<void> {
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const cancelWait = clock.in(ms, resolve);
  await Promise.race([attempt, waited]);
  cancelWait();
}

async function firstAttempts(started: readonly StartedConnection[], clock: Clock, mostMs: number): Promise<void> {
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const startedAt = clock.monotonic();
  const waits = [clock.in(mostMs, resolve)];
  let isFirst = true;
  const attempts = started.map(async ({ connection, attempt }) => {
    await attempt;
    if (!isFirst || connection.status.status !== "connected") return;
    isFirst = false;
    waits.push(clock.in(Math.max(leastForOthersMs, clock.monotonic() - startedAt), resolve));
  });
  await Promise.race([Promise.all(attempts), waited]);
  isFirst = false;
  for (const cancelWait of waits) cancelWait();
}

function connectionOf(
  name: string,
  config: ServerConfig,
  options: ServersOptions & { readonly clock: Clock; readonly limits: SharedLimits | undefined },
): UpstreamConnection {
  const { registry, pins, revisions, note, clock, random = Math.random, redact = unchanged, learn = ignored } = options;
  const spoken = new SpokenRevision((isOld) => void revisions?.keep(name, config, isOld));
  const signIns = options.connections?.server(name);
  const open = async (events: UpstreamEvents, owner?: ConnectionOwner): Promise<Upstream> => {
    if (!spoken.isKnown && (await revisions?.isOld(name, config)) === true) spoken.assumeOld(clock);
    const keyOf = owner && ((key: string): string => signIns?.keyOf(owner, key) ?? "");
    const resolve = keyOf === undefined ? options.resolveSecret : withPersonalKeys(options.resolveSecret, keyOf);
    const stated = await addressOf(name, keyOf === undefined ? withoutPersonalKeys(config) : config, {
      resolve,
      learn,
    });
    const access = signIns?.access(owner);
    const authorize = access && ((send: typeof fetch, origin: string) => access.authorize(send, origin));
    const address = stated.kind === "http" ? { ...stated, authorize } : stated;
    if (address.kind === "stdio") checkProgram(name, address);
    const { revision, mayAsk, startTimeoutMs = defaultStartTimeoutMs } = config;
    const shared = { events, clock, name, startTimeoutMs, answerBytes: options.answerBytes };
    if (address.kind === "openapi") return options.openApi(address, shared);
    return new McpUpstream(address, { ...shared, spoken, revision, mayAsk });
  };
  const { limits } = options;
  return new UpstreamConnection(name, config, { registry, pins, note, clock, random, redact, open, signIns, limits });
}

function unchanged(text: string): string {
  return text;
}

function ignored(): void {}
