import { RuntimeFault } from "./calls/fault.ts";
import { createHost, runCommand, settingsFor, version } from "./command-host.ts";
import type { Settings } from "./config/settings.ts";
import { type ExitCode, exitCodes } from "./doors/cli/exit-codes.ts";
import type { StartFlags } from "./doors/cli/host.ts";
import { processTerminal } from "./doors/cli/terminal.ts";
import type { Listening } from "./doors/http/serve.ts";
import { drainMs, type Wired, wire } from "./wiring.ts";

const terminal = processTerminal();

process.exitCode = await runCommand(createHost(terminal, start), process.argv.slice(2));

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
  const isStdio = flags.stdio === true;
  const [{ commandName }, { checkFree }, { isThere }, { openLog }] = await Promise.all([
    import("./doors/cli/command-name.ts"),
    import("./doors/http/port.ts"),
    import("./doors/cli/data-folder.ts"),
    import("./doors/cli/log.ts"),
  ]);
  const { host: address, port } = settings.listen;
  if (!isStdio) await checkFree(address, port);
  const isNew = !isThere(settings.dataFolder);
  const command = commandName({ ...flags, port: undefined }); // it says in its folder where it listens
  const log = await openLog(settings.logLevel, terminal, command);
  const wired = await wire(settings, { tools: true, channels: true, command }, log, version);
  try {
    const listening = await listenFor(wired, settings, isStdio);
    await announce(wired, listening, settings, { ...flags, isNew });
    wired.runtime.chains?.warm();
    return await serve(wired, listening, settings, isStdio);
  } catch (error) {
    await wired.close();
    throw error;
  }
}

/** An MCP client that starts Postern does not care for the port: when it is taken, a free one will do. */
async function listenFor(
  wired: Wired,
  { listen: { host: address, port, publicUrl } }: Settings,
  anyPort: boolean,
): Promise<Listening> {
  const { listen, loopbackHosts } = await import("./doors/http/serve.ts");
  const on = (wanted: number): Promise<Listening> => listen({ door: wired.door, host: address, port: wanted });
  const listening = await on(port).catch((error: unknown) => {
    if (anyPort && error instanceof RuntimeFault && error.code === "port_taken") return on(0);
    throw error;
  });
  wired.hosts = [...loopbackHosts(listening.port), ...(publicUrl === undefined ? [] : [publicUrl])];
  return listening;
}

async function announce(
  { runtime }: Wired,
  { url, port }: Listening,
  { file, dataFolder: folder, listen: { publicUrl } }: Settings,
  flags: StartFlags & { readonly isNew: boolean },
): Promise<void> {
  const [{ writeServerFile }, { banner }, { commandName }, { readToken }, { createClient }] = await Promise.all([
    import("./doors/cli/server-file.ts"),
    import("./doors/cli/banner.ts"),
    import("./doors/cli/command-name.ts"),
    import("./doors/credentials.ts"),
    import("./doors/http/client.ts"),
  ]);
  writeServerFile(folder, { port, pid: process.pid, url });
  const health = runtime.health();
  if (flags.json === true && flags.stdio !== true)
    return terminal.out(
      `${JSON.stringify({ url, port, pid: process.pid, data: folder, data_made: flags.isNew, ...health })}\n`,
    );
  const agent = createClient({ url, token: (await readToken(folder, "agent")) ?? "" });
  const text = await banner(
    {
      version,
      url,
      file,
      dataFolder: folder,
      isNew: flags.isNew,
      autonomy: runtime.controls.state.autonomy,
      health,
      agent,
      // Over pipes this goes to the client's log, which its agent may read.
      signInUrl: flags.stdio === true ? undefined : await signInUrl(runtime, publicUrl ?? url),
      command: commandName({ ...flags, port: undefined }), // it says in its folder where it listens
    },
    terminal,
  );
  if (flags.stdio === true)
    terminal.aside(text); // standard output belongs to the protocol
  else terminal.out(text);
}

/** Until there are accounts, whoever reads what is printed here signs in as the built-in operator. */
async function signInUrl({ accounts }: Wired["runtime"], url: string): Promise<string | undefined> {
  if (accounts.exist) return undefined;
  const { linkUrl } = await import("./doors/http/account-routes.ts");
  const { token } = await accounts.makeLink("operator", { by: "operator", via: "start" });
  return linkUrl(url, token);
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
