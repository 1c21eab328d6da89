/** `postern worker`: runs tools for gateways. It opens no store and listens on no port. */
import { resolve } from "node:path";
import { counted, RuntimeFault, SystemClock } from "@postern/core";
import type { Settings } from "../../config/settings.ts";
import { loadToolFolders, loadToolModules } from "../../config/tool-modules.ts";
import { revealer } from "../../secrets/lend.ts";
import { openSecrets } from "../../secrets/open-secrets.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import type { AnyTool } from "../../tools/kinds.ts";
import { Registry } from "../../tools/registry.ts";
import { takeTools } from "../../tools/toolsets/toolset.ts";
import { NatsLink } from "../../workers/nats.ts";
import { Worker } from "../../workers/worker.ts";
import { loadWorkerKey } from "../../workers/worker-key.ts";
import { groupName } from "../../workers/workers-config.ts";
import { commandName } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { StartFlags } from "../host.ts";
import { noWorkers } from "../no-workers.ts";
import { onEndSignal, outliveReaders, type Terminal } from "../output/terminal.ts";
import { settingsFor } from "../settings-here.ts";
import { UsageProblem } from "../usage-problem.ts";
import { openLog } from "./log.ts";

export interface WorkerFlags extends StartFlags {
  readonly group?: string;
  readonly tools?: readonly string[];
  /** Of this Postern. */
  readonly version: string;
}

const clock = new SystemClock();

export async function startWorker(flags: WorkerFlags, terminal: Terminal): Promise<ExitCode> {
  const { group, version } = flags;
  if (group === undefined || !groupName.safeParse(group).success)
    throw new UsageProblem(
      `\`--group\` is ${group === undefined ? "missing" : `\`${group}\``}; name a group of \`workers.groups\` of the gateway: 1 to 32 of a-z 0-9 -.`,
    );
  const settings = await settingsFor(flags);
  const command = commandName({ ...flags, port: undefined });
  const { workers } = settings;
  if (workers === undefined) throw noWorkers(command);
  outliveReaders();
  const log = await openLog(
    settings.logLevel,
    { aside: terminal.aside, screen: process.stderr.isTTY === true },
    command,
  );
  const redactor = createRedactor();
  const problem = (text: string): void => log.problem(redactor.redact(text));
  const secrets = settings.secrets ?? (await openSecrets(settings.secretSettings, redactor));
  await using registry = await registryOf(settings, flags.tools, problem);
  const key = await loadWorkerKey(settings.dataFolder);
  const { nats, keys, maxRunning: limit } = workers;
  const link = await NatsLink.open(nats, {
    clock,
    resolve: revealer({ secrets, redactor }),
    log: problem,
    name: `postern worker ${group}`,
  });
  await using worker = new Worker({
    link,
    key,
    keys,
    group,
    registry,
    secrets,
    redactor,
    limit,
    version,
    clock,
    log: problem,
  });
  const stopped = Promise.withResolvers<ExitCode>();
  const stopWaiting = onEndSignal((signal) =>
    stopped.resolve(signal === "SIGINT" ? exitCodes.interrupted : exitCodes.ok),
  );
  await worker.start();
  const names = registry.names();
  if (flags.json === true)
    terminal.out(
      `${JSON.stringify({ group, nats: nats.url, public_key: key.publicKey, tools: names, limit, pid: process.pid })}\n`,
    );
  else
    terminal.out(
      `Worker of group ${group}: connected to ${nats.url}, ${counted(names.length, "tool")} (${names.join(", ")}), runs at most ${limit} at once.\nPublic key: ${key.publicKey}\n`,
    );
  const code = await stopped.promise;
  stopWaiting();
  terminal.aside(`Stopping: ${counted(worker.running, "order")} running, nothing new is taken. Once more to abort.\n`);
  await worker.drain();
  return code;
}

async function registryOf(
  settings: Settings,
  modules: readonly string[] | undefined,
  warn: (problem: string) => void,
): Promise<Registry> {
  const registry = new Registry({ clock });
  const register = (tool: AnyTool): void => void registry.register(tool);
  const { file = "command line", tools, toolModules, toolFolders } = settings;
  if (modules === undefined) {
    const own = [...tools, ...(await loadToolModules(toolModules, file))];
    takeTools(own, register);
    takeTools((await loadToolFolders(toolFolders, file, { others: own, warn })).tools, register);
  } else
    takeTools(
      await loadToolModules(
        modules.map((path) => resolve(path)),
        "command line",
      ),
      register,
    );
  if (registry.size === 0)
    throw new RuntimeFault(
      "config_invalid",
      "This worker has no tools; name modules with `--tools`, or in `tools.modules` of the configuration.",
    );
  await registry.ready();
  return registry;
}
