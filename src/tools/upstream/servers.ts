import { type Clock, SystemClock } from "../../calls/clock.ts";
import { Connection, type Note, type ServerStatus } from "./connection.ts";
import { checkServerName } from "./names.ts";
import type { Pins } from "./pins.ts";
import type { Revisions } from "./revisions.ts";
import { SdkUpstream, Verdict } from "./sdk-upstream.ts";
import { addressOf, checkServer, type ResolveSecret, type ServerConfig } from "./server-config.ts";
import type { ToolShelf } from "./server-shelf.ts";

const startWaitMs = 15_000;

export interface ServersParts {
  readonly registry: ToolShelf;
  readonly pins: Pins;
  /** What is known of the servers from before. */
  readonly revisions?: Revisions;
  /** Records that a server came, went or changed its tools. */
  readonly note: Note;
  /** For `secret://connector/key` in a server's configuration. */
  readonly resolveSecret: ResolveSecret;
  /** Masks what is known as secret in what a server says of its end. */
  readonly redact?: (text: string) => string;
  /** What one answer of a server may have. */
  readonly answerBytes?: number | undefined;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** All configured MCP servers, each on its own: one that fails or crashes stops no other. */
export interface Servers extends AsyncDisposable {
  status(): readonly ServerStatus[];
  /** Ends every connection and every child process, and waits for them. */
  close(): Promise<void>;
}

/**
 * Resolves when each server has been tried once, or after 15 s: what hangs then goes on, and what failed is tried again,
 * in the background.
 *
 * @throws RuntimeFault `server_name_invalid` for an id that cannot be part of a tool's name, `server_invalid` for one
 * without an address; nothing was started then
 */
export async function connectServers(
  configs: Readonly<Record<string, ServerConfig>>,
  parts: ServersParts,
): Promise<Servers> {
  const {
    registry: shelf,
    pins,
    revisions,
    note,
    resolveSecret,
    redact = asIs,
    clock = new SystemClock(),
    random = Math.random,
  } = parts;
  const enabled = Object.entries(configs).filter(([, { enabled = true }]) => enabled);
  for (const [name, config] of enabled) {
    checkServerName(name);
    checkServer(name, config);
  }
  const connections = enabled.map(([name, config]) => {
    const verdict = new Verdict((isOld) => void revisions?.keep(name, config, isOld));
    return new Connection(name, config, {
      shelf,
      pins,
      note,
      clock,
      random,
      redact,
      open: async (events) => {
        if (!verdict.isMade && (await revisions?.isOld(name, config)) === true) verdict.assumeOld(clock);
        const address = await addressOf(name, config, resolveSecret);
        return new SdkUpstream(address, { events, verdict, clock, answerBytes: parts.answerBytes });
      },
    });
  });
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const cancelWait = clock.in(startWaitMs, resolve);
  await Promise.race([Promise.all(connections.map((connection) => connection.start())), waited]);
  cancelWait();
  const close = async (): Promise<void> =>
    void (await Promise.all(connections.map((connection) => connection.close())));
  return {
    status: () => connections.map(({ status }) => status),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function asIs(text: string): string {
  return text;
}
