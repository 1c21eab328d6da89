import { counted } from "@postern/core";
import type { ChannelView } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { ago, type Columns, type Work } from "../output/print.ts";
import { visible } from "../output/text.ts";

/** How many undelivered notices are shown: the last ones. */
const mostShown = 5;
const needs = { channels: true } as const;

export function commands(group: CommandGroup): void {
  group.list("list", "channels, with what waits and what failed", {
    isDefault: true,
    needs,
    rows: "channels",
    ask: ({ operator }) => operator.channels.list(),
    columns,
    empty: "None is configured. `channels.webhooks` in the configuration names them.",
    below: ({ channels }, work) =>
      [...channels.map((one) => problemText(work, one)), ...channels.map((one) => deadText(work, one))].join(""),
  });
  group.answer("test <name>", "send a notice that says it is only a test", {
    needs,
    ask: ({ operator }, sent) => operator.channels.test(sent),
    text: ({ delivered, problem = "" }, { terminal }, { name }) => {
      if (delivered) return `${visible(name)} took it.\n`;
      terminal.aside(`${visible(name)} did not take it. ${visible(problem)}\n`);
      return "";
    },
    code: ({ delivered }) => (delivered ? exitCodes.ok : exitCodes.failed),
  });
  group.answer("retry <name>", "deliver again what failed", {
    needs,
    ask: ({ operator }, sent) => operator.channels.retry(sent),
    text: ({ retried }) =>
      retried === 0 ? "No notice had failed.\n" : `Trying again: ${counted(retried, "notice")}.\n`,
  });
}

const columns: Columns<ChannelView> = {
  CHANNEL: ({ name }) => name,
  KIND: ({ kind }) => kind,
  TARGET: ({ target }) => target,
  DELIVERED: ({ delivered }) => String(delivered),
  LAST: ({ last_delivered_at }, work) => ago(last_delivered_at, work),
  WAITING: ({ waiting }) => String(waiting),
  "GIVEN UP": ({ dead }, { paint }) => ({
    text: String(dead.length),
    paint: (text) => (dead.length > 0 ? paint("red", text) : text),
  }),
};

/** Uncut, because it is why a person looks. */
function problemText({ command, paint }: Work, { name, problem }: ChannelView): string {
  return problem === undefined ? "" : `${paint("red", visible(name))}: ${asTypedHere(visible(problem), command)}\n`;
}

function deadText(work: Work, { name, dead }: ChannelView): string {
  if (dead.length === 0) return "";
  const { command, paint } = work;
  const lines = dead
    .slice(-mostShown)
    .map(({ type, at, entry, problem }) => visible(`  ${type} (entry ${entry}), ${ago(at, work)}: ${problem}`));
  return `\n${paint("bold", visible(name))} could not deliver ${dead.length}; \`${command} channels retry ${visible(name)}\` tries again:\n${lines.join("\n")}\n`;
}
