import type { CommandGroup } from "../command.ts";

export function commands(group: CommandGroup): void {
  group.own("", {
    options: {
      "--stdio": "speak MCP over standard input and output; joins the running Postern if there is one",
      "--host <address>": "an address to listen on (default 127.0.0.1: this machine only)",
      "--autonomy <level>": "A0 to A4: what agents may do unasked (default A2)",
      "--log-level <level>": "error, warn, info or debug",
    },
    run: ({ host, flags, options }) => host.start({ ...flags, ...options }),
  });
}
