/** The command's entry: configuration → runtime → doors. Everything heavy is imported when a command needs it. */
import { readFileSync } from "node:fs";
import { SystemClock } from "./calls/clock.ts";
import { messageOf, RuntimeFault } from "./calls/fault.ts";
import { ConfigProblems } from "./config/problem.ts";
import type { Settings } from "./config/settings.ts";
import { type ExitCode, exitCodes } from "./doors/cli/exit-codes.ts";
import type { GlobalFlags, Host, Inside, InsideNeeds, Inspected, StartFlags } from "./doors/cli/host.ts";
import { silentLog } from "./doors/cli/log.ts";
import { createProgram } from "./doors/cli/program.ts";
import { processTerminal } from "./doors/cli/terminal.ts";
import { UsageProblem } from "./doors/cli/usage-problem.ts";
import { ClientProblem } from "./doors/http/client.ts";
import type { Listening } from "./doors/http/serve.ts";
import type { NamedText } from "./doors/policy-reader.ts";
import { drainMs, type Wired, wire } from "./wiring.ts";

const terminal = processTerminal();
const clock = new SystemClock();
const version = versionOf(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")));

const host: Host = { terminal, clock, dataFolder, wantedPort, startInside, start, inspect, configurationText };

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<ExitCode> {
  try {
    return await createProgram(host, version).run(words);
  } catch (error) {
    const expected = [RuntimeFault, ConfigProblems, ClientProblem, UsageProblem].some((kind) => error instanceof kind);
    const isVerbose = words.includes("--verbose");
    terminal.aside(`${isVerbose && error instanceof Error ? error.stack : `postern: ${messageOf(error)}`}\n`);
    if (!expected && !isVerbose) terminal.aside("This should not happen; `--verbose` shows where it did.\n");
    const isTyping = error instanceof UsageProblem || (error instanceof ConfigProblems && error.isTyping);
    return isTyping ? exitCodes.usage : exitCodes.failed;
  }
}

async function settingsFor(flags: StartFlags): Promise<Settings> {
  const { loadConfig } = await import("./config/load.ts");
  return loadConfig({ flags, environment: process.env, folder: process.cwd() });
}

async function dataFolder(flags: GlobalFlags): Promise<string> {
  const { resolve } = await import("node:path");
  const { loadOverrides } = await import("./config/load.ts");
  const { data } = loadOverrides({ flags, environment: process.env });
  return data === undefined ? (await settingsFor(flags)).dataFolder : resolve(data);
}

function wantedPort({ port }: GlobalFlags): number | undefined {
  const said = port ?? process.env["POSTERN_PORT"];
  return said === undefined || said === "" || !/^\d{1,5}$/.test(said) ? undefined : Number(said);
}

async function inspect(flags: GlobalFlags): Promise<Inspected> {
  const { codeNearby } = await import("./config/find-file.ts");
  const settings = await settingsFor(flags);
  return {
    ...settings,
    codeNearby: settings.file === undefined ? codeNearby(process.cwd()) : undefined,
  };
}

async function configurationText(flags: GlobalFlags, named?: string): Promise<NamedText> {
  const [{ resolve }, text, { noConfiguration }] = await Promise.all([
    import("node:path"),
    import("./config/policy-text.ts"),
    import("./config/find-file.ts"),
  ]);
  const file = named === undefined ? (await settingsFor(flags)).file : resolve(named);
  if (file === undefined) throw noConfiguration(process.cwd());
  return text.configurationText(file, process.cwd());
}

/** Answers requests of this process alone: its name is no address, so nothing outside can mean it. */
async function startInside(flags: GlobalFlags, needs: InsideNeeds): Promise<Inside> {
  const log = { ...silentLog, problem: (message: string) => terminal.aside(`postern: ${message}\n`) };
  const wired = await wire(await settingsFor(flags), needs, log, version);
  wired.hosts = ["postern.inside"];
  return {
    url: "http://postern.inside",
    send: (request) => wired.door.fetch(request),
    close: () => wired.close(),
  };
}

async function start(flags: StartFlags): Promise<ExitCode> {
  const settings = await settingsFor(flags);
  if (settings.file === undefined) {
    const { noConfiguration } = await import("./config/find-file.ts");
    throw noConfiguration(process.cwd());
  }
  const { readServerFile } = await import("./doors/cli/server-file.ts");
  const running = readServerFile(settings.dataFolder);
  if (running !== undefined && flags.stdio === true) {
    const { bridgeStdio } = await import("./doors/cli/stdio-bridge.ts");
    return bridgeStdio(running, settings.dataFolder);
  }
  if (running !== undefined) {
    throw new RuntimeFault(
      "already_running",
      `Postern runs already on ${settings.dataFolder}: ${running.url} (process ${running.pid}). Stop that one, or name another folder with \`--data\`.`,
    );
  }
  const { openLog } = await import("./doors/cli/log.ts");
  const log = await openLog(settings.logLevel, terminal);
  const wired = await wire(settings, { tools: true }, log, version);
  try {
    const listening = await listenFor(wired, settings, flags.stdio === true);
    await announce(wired, listening, settings, flags);
    return await serve(wired, listening, settings, flags.stdio === true);
  } catch (error) {
    await wired.close();
    throw error;
  }
}

/** An MCP client that starts Postern does not care for the port: when it is taken, a free one will do. */
async function listenFor(
  wired: Wired,
  { listen: { host: address, port } }: Settings,
  anyPort: boolean,
): Promise<Listening> {
  const { listen, loopbackHosts } = await import("./doors/http/serve.ts");
  const on = (wanted: number): Promise<Listening> => listen({ door: wired.door, host: address, port: wanted });
  const listening = await on(port).catch((error: unknown) => {
    if (anyPort && error instanceof RuntimeFault && error.code === "port_taken") return on(0);
    throw error;
  });
  wired.hosts = loopbackHosts(listening.port);
  return listening;
}

async function announce(
  { runtime }: Wired,
  { url, port }: Listening,
  { file, dataFolder: folder }: Settings,
  flags: StartFlags,
): Promise<void> {
  const [{ writeServerFile }, { banner, commandName }, { readToken }, { createClient }] = await Promise.all([
    import("./doors/cli/server-file.ts"),
    import("./doors/cli/banner.ts"),
    import("./doors/credentials.ts"),
    import("./doors/http/client.ts"),
  ]);
  writeServerFile(folder, { port, pid: process.pid, url });
  const health = runtime.health();
  if (flags.json === true && flags.stdio !== true)
    return terminal.out(`${JSON.stringify({ url, port, pid: process.pid, data: folder, ...health })}\n`);
  const agent = createClient({ url, token: (await readToken(folder, "agent")) ?? "" });
  const text = await banner(
    {
      version,
      url,
      file,
      dataFolder: folder,
      autonomy: runtime.controls.state.autonomy,
      health,
      agent,
      command: commandName(flags),
    },
    terminal,
  );
  if (flags.stdio === true)
    terminal.aside(text); // standard output belongs to the protocol
  else terminal.out(text);
}

/** Until a signal comes, or the client of standard input goes. The first drains; a second one does not wait. */
async function serve(
  wired: Wired,
  listening: Listening,
  { dataFolder: folder, agentScopes: scopes }: Settings,
  stdio: boolean,
): Promise<ExitCode> {
  const { removeServerFile } = await import("./doors/cli/server-file.ts");
  const stopped = Promise.withResolvers<void>();
  const stop = (): void => {
    process.once("SIGINT", abort).once("SIGTERM", abort);
    stopped.resolve();
  };
  const abort = (): void => {
    removeServerFile(folder);
    terminal.aside("Aborted; what was in flight is `unknown` until it is settled.\n");
    process.exit(exitCodes.failed);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  if (stdio)
    void wired.mcp
      .serveStdio({ principal: { tenant: "default", agent: "local-agent", via: "stdio" }, scopes })
      .then(stop, stop);
  await stopped.promise;
  removeServerFile(folder);
  terminal.aside(`Stopping: new calls are refused, those in flight have ${drainMs / 1000} s. Once more to abort.\n`);
  await wired.close();
  await listening.close(1_000);
  return exitCodes.ok;
}

function versionOf(manifest: unknown): string {
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "0.0.0";
}
