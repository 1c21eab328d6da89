import { type Clock, SystemClock } from "../../core/clock.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { checkServerName } from "../../tools/upstream-names.ts";
import { type NoteEvent, type ServerStatus, UpstreamConnection } from "./connection.ts";
import type { Pins } from "./pins.ts";
import { checkProgram } from "./program.ts";
import type { Revisions } from "./revisions.ts";
import { SdkUpstream } from "./sdk-upstream.ts";
import type { ToolRegistrar } from "./server-collection.ts";
import { addressOf, checkServer, type ServerConfig } from "./server-config.ts";
import type { Upstream, UpstreamEvents } from "./upstream.ts";
import { SpokenProtocol } from "./verdict.ts";

const mostWaitMs = 8_000;
/** When one server is connected, the others may take as long again, and no less than this. */
const leastForOthersMs = 4_000;

export interface ServersParts {
  readonly registry: ToolRegistrar;
  readonly pins: Pins;
  /** What is known of the servers from before. */
  readonly revisions?: Revisions;
  /** Records that a server came, went or changed its tools. */
  readonly note: NoteEvent;
  /** For `secret://connector/key` in a server's configuration. */
  readonly resolveSecret: ResolveSecret;
  /** Makes known what a configuration writes out, or takes from the environment, and nobody may see. */
  readonly learn?: (values: readonly string[]) => void;
  /** Masks what is known as secret in what a server says of its end. */
  readonly redact?: (text: string) => string;
  /** How long `connectServers` waits for the servers; what is not there by then comes later. */
  readonly waitMs?: number | undefined;
  /** What one answer of a server may have. */
  readonly answerBytes?: number | undefined;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** All configured MCP servers, each on its own: one that fails or crashes stops no other. */
export interface Servers extends AsyncDisposable {
  status(): readonly ServerStatus[];
  /** The server's own names of its tools. Undefined: they are not known yet, or there is no such server. */
  listed(server: string): readonly string[] | undefined;
  /** Ends every connection and every child process, and waits for them. */
  close(): Promise<void>;
}

/**
 * Resolves when each server has been tried once, or soon after the first: a slow one delays nobody. What is not there
 * then goes on in the background, and what failed is tried again there.
 *
 * @throws RuntimeFault `server_name_invalid` for an id that cannot be part of a tool's name, `server_invalid` for one
 * without an address; nothing was started then
 */
export async function connectServers(
  configs: Readonly<Record<string, ServerConfig>>,
  parts: ServersParts,
): Promise<Servers> {
  const { clock = new SystemClock() } = parts;
  const enabled = Object.entries(configs).filter(([, { enabled = true }]) => enabled);
  for (const [name, config] of enabled) {
    checkServerName(name);
    checkServer(name, config);
  }
  const connections = enabled.map(([name, config]) => connectionOf(name, config, { ...parts, clock }));
  for (const { name } of connections) parts.registry.setServer(name, "down", "it is still being connected");
  await tried(connections, clock, parts.waitMs ?? mostWaitMs);
  const close = async (): Promise<void> =>
    void (await Promise.all(connections.map((connection) => connection.close())));
  return {
    status: () => connections.map(({ status }) => status),
    listed: (server) => connections.find(({ name }) => name === server)?.listed,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function tried(connections: readonly UpstreamConnection[], clock: Clock, mostMs: number): Promise<void> {
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const startedAt = clock.monotonic();
  const waits = [clock.in(mostMs, resolve)];
  let isFirst = true;
  const attempts = connections.map(async (connection) => {
    await connection.start();
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
  parts: ServersParts & { readonly clock: Clock },
): UpstreamConnection {
  const { registry: shelf, pins, revisions, note, clock, random = Math.random, redact = asIs, learn = ignored } = parts;
  const verdict = new SpokenProtocol((isOld) => void revisions?.keep(name, config, isOld));
  const open = async (events: UpstreamEvents): Promise<Upstream> => {
    if (!verdict.isMade && (await revisions?.isOld(name, config)) === true) verdict.assumeOld(clock);
    const address = await addressOf(name, config, { resolve: parts.resolveSecret, learn });
    if (address.kind === "stdio") checkProgram(name, address);
    const { revision, startTimeoutMs } = config;
    return new SdkUpstream(address, {
      ...{ events, verdict, clock, name, revision, startTimeoutMs },
      answerBytes: parts.answerBytes,
    });
  };
  return new UpstreamConnection(name, config, { shelf, pins, note, clock, random, redact, open });
}

function asIs(text: string): string {
  return text;
}

function ignored(): void {}
