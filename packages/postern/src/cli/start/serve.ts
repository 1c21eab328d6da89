/** The serving part of `postern start`. It is loaded when no other Postern runs on the data folder. */

import { counted, RuntimeFault, SystemClock } from "@postern/core";
import type { PosternClient } from "@postern/core/contract";
import type { Settings } from "../../config/settings.ts";
import type { Health } from "../../runtime/api/api.ts";
import { createClient } from "../../server/client/client.ts";
import { readToken, type TokenRole } from "../../server/credentials.ts";
import { linkUrl } from "../../server/http/account-routes.ts";
import { ownHosts } from "../../server/http/own-hosts.ts";
import { type Listening, listen } from "../../server/http/serve.ts";
import { version } from "../command-host.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { StartFlags } from "../host.ts";
import { type EndSignal, onEndSignal, type Terminal } from "../output/terminal.ts";
import { visible } from "../output/text.ts";
import { banner } from "./banner.ts";
import { HangUp } from "./hang-up.ts";
import { openLog, reportNames } from "./log.ts";
import { removeServerFile, sleep, writeServerFile, writeStopping } from "./server-file.ts";
import { unprotectedProblem } from "./unprotected.ts";
import { drainMs, type Wired, wire } from "./wiring.ts";

const clock = new SystemClock();
/** How long the table of tools waits for servers at most. */
const tableWaitMs = 3_000;
const lookEveryMs = 25;
const localAgent = { tenant: "default", agent: "local-agent" } as const;

/** One start: what it was asked for, and where it prints. */
export interface ServeRequest {
  readonly settings: Settings;
  readonly flags: StartFlags;
  readonly terminal: Terminal;
  /** How the next command is typed. Without the port: the data folder says where it listens. */
  readonly command: string;
  /** Whether this start makes the data folder. */
  readonly isNew: boolean;
}

export async function serve(start: ServeRequest): Promise<ExitCode> {
  const { settings, flags, terminal, command } = start;
  const screen = process.stderr.isTTY === true; // also if standard output is a pipe
  const log = await openLog(settings.logLevel, { aside: terminal.aside, screen }, command);
  using hangUp = isInTerminal(flags) ? undefined : new HangUp(log);
  const needs = { tools: true, channels: true, servesAtOnce: true, command };
  const wired = await wire(settings, needs, { log, version });
  const { runtime } = wired;
  try {
    const listening = await listenFor(wired, start);
    const names = reportNames(runtime, { log, clock });
    const stopped = stopSignal(start); // before server.json: a caller that finds it may stop it at once
    hangUp?.begin(wired.policies);
    writeServerFile(settings.dataFolder, { port: listening.port, pid: process.pid, url: listening.url });
    await serversTried(runtime, terminal);
    wired.checkOffer();
    await announce(start, { runtime, listening, unmatched: names.found.length });
    runtime.chains?.warm();
    if (flags.stdio === true)
      void wired.mcp
        .serveStdio({ principal: { ...localAgent, via: "stdio" }, scopes: settings.agentScopes })
        .then(stopped.stop, stopped.stop);
    const code = await stopped.promise;
    writeStopping(settings.dataFolder);
    terminal.aside(`Stopping: new calls are refused, those in flight have ${drainMs / 1000} s. Once more to abort.\n`);
    await wired.close(() => listening.close(1_000));
    names.stop();
    return code;
  } catch (error) {
    await wired.close();
    throw error;
  }
}

/** If an MCP client starts Postern and the port is taken, a free one is used: the client does not need it. */
async function listenFor(wired: Wired, { settings, flags }: ServeRequest): Promise<Listening> {
  const { host, port, maxConnectionsPerAddress: perAddress } = settings.listen;
  const limits = perAddress === undefined ? {} : { perAddress };
  const on = (wanted: number): Promise<Listening> => listen({ handler: wired.server, host, port: wanted, limits });
  const listening = await on(port).catch((error: unknown) => {
    if (flags.stdio === true && error instanceof RuntimeFault && error.code === "port_taken") return on(0);
    throw error;
  });
  wired.hosts = ownHosts({ ...settings.listen, port: listening.port });
  return listening;
}

/** Calls are served already. The table shows the tools of quick servers; a slow server is shown as connecting. */
async function serversTried(runtime: Wired["runtime"], terminal: Terminal): Promise<void> {
  terminal.aside(startingText(runtime.health().servers.filter(({ status }) => status === "connecting")));
  for (let waitedMs = 0; waitedMs < tableWaitMs; waitedMs += lookEveryMs) {
    if (runtime.health().servers.every(({ status }) => status !== "connecting")) return;
    await sleep(clock, lookEveryMs);
  }
}

function startingText(servers: Health["servers"]): string {
  const names = servers.map(({ name }) => visible(name)).join(", ");
  return servers.length === 0 ? "" : `Starting ${counted(servers.length, "server")}: ${names} …\n`;
}

async function announce(
  { settings, flags, terminal, command, isNew }: ServeRequest,
  {
    runtime,
    listening: { url, port },
    unmatched,
  }: { readonly runtime: Wired["runtime"]; readonly listening: Listening; readonly unmatched: number },
): Promise<void> {
  const { file, dataFolder, listen: at } = settings;
  const isStdio = flags.stdio === true;
  const health = runtime.health();
  if (flags.json === true && !isStdio)
    return terminal.out(
      `${JSON.stringify({ url, port, pid: process.pid, data: dataFolder, data_made: isNew, ...health })}\n`,
    );
  const client = async (role: TokenRole): Promise<PosternClient> =>
    createClient({ url, token: (await readToken(dataFolder, role)) ?? "" });
  const text = await banner(
    {
      ...{ version, url, file, dataFolder, isNew, health, unmatched, command },
      unprotected: unprotectedProblem(at),
      autonomy: runtime.controls.state.autonomy,
      agent: await client("agent"),
      operator: await client("operator"),
      // With --stdio the client logs this, and its agent may read the log.
      signInUrl: isStdio ? undefined : await signInUrl(runtime, at.publicUrl ?? url),
    },
    terminal,
  );
  if (isStdio)
    terminal.aside(text); // standard output belongs to the protocol
  else terminal.out(text);
}

/** Until there are accounts, the reader of the banner signs in as the built-in operator. */
async function signInUrl({ accounts }: Wired["runtime"], url: string): Promise<string | undefined> {
  if (accounts.exist) return undefined;
  const { token } = await accounts.makeLink("operator", { by: "operator", via: "start" });
  return linkUrl(url, token);
}

/** A terminal that closes sends SIGHUP to what runs in it; then it means the end, as for a client that speaks over standard input. */
function isInTerminal({ stdio }: StartFlags): boolean {
  return stdio === true || process.stdin.isTTY === true;
}

interface StopSignal {
  /** The exit code of the stop. */
  readonly promise: Promise<ExitCode>;
  stop(): void;
}

/** Ends at a signal or a call of `stop`. A second signal ends the process at once. */
function stopSignal({ settings, flags, terminal }: ServeRequest): StopSignal {
  const stopped = Promise.withResolvers<ExitCode>();
  const abort = (signal: EndSignal): void => {
    removeServerFile(settings.dataFolder);
    terminal.aside("Aborted; what was in flight is `unknown` until it is settled.\n");
    process.exit(signal === "SIGINT" ? exitCodes.interrupted : exitCodes.failed);
  };
  const stop = (code: ExitCode): void => {
    stopWaiting();
    onEndSignal(abort, isInTerminal(flags));
    stopped.resolve(code);
  };
  const stopWaiting = onEndSignal(
    (signal) => stop(signal === "SIGINT" ? exitCodes.interrupted : exitCodes.ok),
    isInTerminal(flags),
  );
  return { promise: stopped.promise, stop: () => stop(exitCodes.ok) };
}
