import type { CommandGroup } from "../command.ts";

export function commands(group: CommandGroup): void {
  group.own("", {
    options: {
      "--group <name>": "whose orders it runs",
      "--tools <module...>": "modules that export its tools; default: those of the configuration",
      "--log-level <level>": "error, warn, info or debug",
    },
    run: async ({ flags, options, host }) =>
      (await import("../start/worker.ts")).startWorker(
        { ...flags, ...options, version: group.command.parent?.version() ?? "" },
        host.terminal,
      ),
  });
}
