import { RuntimeFault } from "@postern/core";
import { type ServerHealth, servers } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { flagsOf } from "../flags.ts";
import { ago, type Columns, type Work } from "../output/print.ts";
import { visible } from "../output/text.ts";

const needs = { tools: true } as const;

export function commands(group: CommandGroup): void {
  group.list("list", "upstream servers, whether they are connected, and why not", {
    isDefault: true,
    needs,
    rows: "servers",
    ask: ({ operator }) => operator.health.show(),
    columns,
    empty: "None is configured. `servers` in the configuration names them.",
    below: ({ servers: listed }, work) => listed.map((one) => problemText(work, one)).join(""),
  });
  group.answer("reconnect <name>", "close the connection to a server and connect at once", {
    flags: flagsOf(servers.reconnect.body, {}),
    ask: ({ operator, running }, sent) => {
      if (running) return operator.servers.reconnect(sent);
      throw new RuntimeFault("request_invalid", "It needs a running Postern; start it with `postern start`.");
    },
    text: ({ name }) => `${visible(name)} is connected.\n`,
  });
}

const columns: Columns<ServerHealth> = {
  SERVER: ({ name }) => name,
  STATE: ({ status }, { paint }) => ({
    text: status,
    paint: (text) => (status === "disconnected" ? paint("red", text) : text),
  }),
  SINCE: ({ changes }, work) => ago(changes.at(-1)?.at, work),
  RESTARTS: ({ restarts }) => String(restarts),
  STARTS: ({ on_demand }) => (on_demand === true ? "on demand" : "at once"),
};

/** Uncut, because it is why a person looks. */
function problemText({ command, paint }: Work, { name, problem }: ServerHealth): string {
  return problem === undefined ? "" : `${paint("red", visible(name))}: ${asTypedHere(visible(problem), command)}\n`;
}
