/** `postern start`: finds out whether it may serve. Next: serve.ts. */

import { RuntimeFault, SystemClock } from "@postern/core";
import { noConfiguration } from "../../config/find-file.ts";
import { checkFree } from "../../server/http/port.ts";
import { commandName } from "../command-name.ts";
import type { ExitCode } from "../exit-codes.ts";
import type { StartFlags } from "../host.ts";
import { outliveReaders, type Terminal } from "../output/terminal.ts";
import { settingsFor } from "../settings-here.ts";
import { exists } from "./data-folder.ts";
import { findServerOrLock, removeServerFile, waitingFor, writeStarting } from "./server-file.ts";

export async function start(flags: StartFlags, terminal: Terminal): Promise<ExitCode> {
  const settings = await settingsFor(flags);
  const { dataFolder: folder, listen: at } = settings;
  if (settings.file === undefined) throw noConfiguration(process.cwd());
  outliveReaders();
  const found = await findServerOrLock(folder, new SystemClock(), (what) => terminal.aside(waitingFor[what]));
  if ("server" in found) {
    if (flags.stdio === true) return (await import("./stdio-bridge.ts")).bridgeStdio(found.server, folder);
    throw new RuntimeFault(
      "store_locked",
      `Postern runs already on ${folder}: ${found.server.url} (process ${found.server.pid}). Stop that one, or name another folder with \`--data\`.`,
    );
  }
  using _ = found.lock;
  if (flags.stdio !== true) await checkFree(at.host, at.port);
  const isNew = !exists(folder);
  writeStarting(folder);
  try {
    const { serve } = await import("./serve.ts");
    return await serve({ settings, flags, terminal, isNew, command: commandName({ ...flags, port: undefined }) });
  } finally {
    removeServerFile(folder);
  }
}
