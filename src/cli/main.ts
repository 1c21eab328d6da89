import type { Settings } from "../config/settings.ts";
import { SystemClock } from "../core/clock.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { PosternClient } from "../server/client/client.ts";
import type { TokenRole } from "../server/credentials.ts";
import type { Listening } from "../server/http/serve.ts";
import { createHost, runCommand, settingsFor, version } from "./command-host.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { StartFlags } from "./host.ts";
import type { Passing, ServerFile } from "./server-file.ts";
import { outliveReaders, processTerminal } from "./terminal.ts";
import { drainMs, type Wired, wire } from "./wiring.ts";

const terminal = processTerminal();
/** How long the table of `start` waits for servers at most. */
const tableWaitMs = 3_000;
const lookEveryMs = 25;

process.exitCode = await runCommand(createHost(terminal, start), process.argv.slice(2));
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((done) => stream.write("", done))));
process.exit(); // a tool that ignores its end must not hold a command that is over

async function start(flags: StartFlags): Promise<ExitCode> {
  const settings = await settingsFor(flags);
  if (settings.file === undefined) {
    const { noConfiguration } = await import("../config/find-file.ts");
    throw noConfiguration(process.cwd());
  }
  outliveReaders();
  const { findServerOrBooks, removeServerFile, waitingFor, writeStarting } = await import("./server-file.ts");
  const waiting = (what: Passing): void => terminal.aside(waitingFor[what]);
  const found = await findServerOrBooks(settings.dataFolder, new SystemClock(), waiting); // one that is being started counts
  if ("server" in found) return besideRunning(found.server, settings, flags);
  using _ = found.books;
  const [{ checkFree }, { isThere }] = await Promise.all([
    import("../server/http/port.ts"),
    import("./data-folder.ts"),
  ]);
  const { host: address, port } = settings.listen;
  if (flags.stdio !== true) await checkFree(address, port);
  const isNew = !isThere(settings.dataFolder);
  writeStarting(settings.dataFolder);
  try {
    return await run(settings, { ...flags, isNew });
  } finally {
    removeServerFile(settings.dataFolder);
  }
}

async function besideRunning(running: ServerFile, { dataFolder }: Settings, { stdio }: StartFlags): Promise<ExitCode> {
  if (stdio === true) {
    const { bridgeStdio } = await import("./stdio-bridge.ts");
    return bridgeStdio(running, dataFolder);
  }
  throw new RuntimeFault(
    "already_running",
    `Postern runs already on ${dataFolder}: ${running.url} (process ${running.pid}). Stop that one, or name another folder with \`--data\`.`,
  );
}

async function run(settings: Settings, flags: StartFlags & { readonly isNew: boolean }): Promise<ExitCode> {
  const [{ commandName }, { openLog }, { removeServerFile, writeServerFile }] = await Promise.all([
    import("./command-name.ts"),
    import("./log.ts"),
    import("./server-file.ts"),
  ]);
  const isStdio = flags.stdio === true;
  const command = commandName({ ...flags, port: undefined }); // it says in its folder where it listens
  const log = await openLog(
    settings.logLevel,
    { aside: terminal.aside, screen: process.stderr.isTTY === true }, // also when what is printed goes to a pipe
    command,
  );
  const needs = { tools: true, channels: true, servesAtOnce: true, command };
  const wired = await wire(settings, needs, { log, version });
  try {
    const listening = await listenFor(wired, settings, isStdio);
    const { reportNames } = await import("./name-report.ts");
    const names = reportNames(wired.runtime, { log, clock: new SystemClock() });
    const served = { wired, listening, settings, names };
    const stopped = toldToStop(() => removeServerFile(settings.dataFolder)); // before anybody can find it: who calls at once may stop it at once
    writeServerFile(settings.dataFolder, { port: listening.port, pid: process.pid, url: listening.url });
    await serversTried(wired.runtime);
    wired.checkOffer();
    await announce(served, flags);
    wired.runtime.chains?.warm();
    const code = await serve(served, stopped, isStdio);
    names.stop();
    return code;
  } catch (error) {
    await wired.close();
    throw error;
  }
}

/** An MCP client that starts Postern does not care for the port: when it is taken, a free one will do. */
async function listenFor(
  wired: Wired,
  { listen: { host: address, port, publicUrl, maxConnectionsPerAddress: perAddress } }: Settings,
  anyPort: boolean,
): Promise<Listening> {
  const { listen, loopbackHosts } = await import("../server/http/serve.ts");
  const limits = perAddress === undefined ? {} : { perAddress };
  const on = (wanted: number): Promise<Listening> => listen({ door: wired.door, host: address, port: wanted, limits });
  const listening = await on(port).catch((error: unknown) => {
    if (anyPort && error instanceof RuntimeFault && error.code === "port_taken") return on(0);
    throw error;
  });
  wired.hosts = [...loopbackHosts(listening.port), ...(publicUrl === undefined ? [] : [publicUrl])];
  return listening;
}

interface Served {
  readonly wired: Wired;
  readonly listening: Listening;
  readonly settings: Settings;
  /** Names in the configuration that match nothing. */
  readonly names: { readonly found: readonly unknown[] };
}

/** Calls are served already. What is printed names the tools of quick servers; a slow one is shown as connecting. */
async function serversTried(runtime: Wired["runtime"]): Promise<void> {
  const clock = new SystemClock();
  for (let waitedMs = 0; waitedMs < tableWaitMs; waitedMs += lookEveryMs) {
    if (runtime.health().servers.every(({ status }) => status !== "connecting")) return;
    await new Promise<void>((resolve) => void clock.in(lookEveryMs, resolve));
  }
}

async function announce(
  { wired: { runtime }, listening: { url, port }, settings, names }: Served,
  flags: StartFlags & { readonly isNew: boolean },
): Promise<void> {
  const { file, dataFolder: folder, listen } = settings;
  const [{ banner }, { commandName }, { shownExplanation }] = await Promise.all([
    import("./banner.ts"),
    import("./command-name.ts"),
    import("../server/contract/wire.ts"),
  ]);
  const asAgent = { principal: { tenant: "default", agent: "local-agent" }, scopes: settings.agentScopes };
  const health = runtime.health();
  if (flags.json === true && flags.stdio !== true)
    return terminal.out(
      `${JSON.stringify({ url, port, pid: process.pid, data: folder, data_made: flags.isNew, ...health })}\n`,
    );
  const text = await banner(
    {
      version,
      url,
      file,
      dataFolder: folder,
      isNew: flags.isNew,
      autonomy: runtime.controls.state.autonomy,
      health,
      unmatched: names.found.length,
      agent: await clientOf(folder, url, "agent"),
      operator: await clientOf(folder, url, "operator"),
      explain: async (call) => shownExplanation(await runtime.explain(call, asAgent), false),
      // Over pipes this goes to the client's log, which its agent may read.
      signInUrl: flags.stdio === true ? undefined : await signInUrl(runtime, listen.publicUrl ?? url),
      command: commandName({ ...flags, port: undefined }), // it says in its folder where it listens
    },
    terminal,
  );
  if (flags.stdio === true)
    terminal.aside(text); // standard output belongs to the protocol
  else terminal.out(text);
}

async function clientOf(dataFolder: string, url: string, role: TokenRole): Promise<PosternClient> {
  const [{ readToken }, { createClient }] = await Promise.all([
    import("../server/credentials.ts"),
    import("../server/client/client.ts"),
  ]);
  return createClient({ url, token: (await readToken(dataFolder, role)) ?? "" });
}

/** Until there are accounts, whoever reads what is printed here signs in as the built-in operator. */
async function signInUrl({ accounts }: Wired["runtime"], url: string): Promise<string | undefined> {
  if (accounts.exist) return undefined;
  const { linkUrl } = await import("../server/http/account-routes.ts");
  const { token } = await accounts.makeLink("operator", { by: "operator", via: "start" });
  return linkUrl(url, token);
}

interface StopSignal {
  readonly promise: Promise<void>;
  stop(): void;
}

/** By a signal, or whatever else calls `stop`. The first drains; a signal after it does not wait. */
function toldToStop(forget: () => void): StopSignal {
  const stopped = Promise.withResolvers<void>();
  const abort = (): void => {
    forget();
    terminal.aside("Aborted; what was in flight is `unknown` until it is settled.\n");
    process.exit(exitCodes.failed);
  };
  const stop = (): void => {
    process.once("SIGINT", abort).once("SIGTERM", abort);
    stopped.resolve();
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  return { promise: stopped.promise, stop };
}

/** Until it is told to stop, or the client of standard input goes. */
async function serve(
  { wired, listening, settings }: Served,
  { promise: stopped, stop }: StopSignal,
  stdio: boolean,
): Promise<ExitCode> {
  const { dataFolder: folder, agentScopes: scopes } = settings;
  const { writeStopping } = await import("./server-file.ts");
  if (stdio)
    void wired.mcp
      .serveStdio({ principal: { tenant: "default", agent: "local-agent", via: "stdio" }, scopes })
      .then(stop, stop);
  await stopped;
  writeStopping(folder);
  terminal.aside(`Stopping: new calls are refused, those in flight have ${drainMs / 1000} s. Once more to abort.\n`);
  await wired.close();
  await listening.close(1_000);
  return exitCodes.ok;
}
