import type { Command } from "commander";
import { counted } from "../../core/shown.ts";
import type { ChannelView } from "../../server/contract/channels.ts";
import type { Act } from "../act.ts";
import { asTypedHere } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { ago, type Columns, type CommandInput, printAnswer, printList } from "../print.ts";
import type { Work } from "../session.ts";
import { visible } from "../text.ts";

/** How many undelivered notices are shown: the last ones. */
const mostShown = 5;

export function channelCommands(group: Command, host: Host, act: Act): void {
  const typed = (flags: GlobalFlags): CommandInput => ({ host, flags, needs: { tools: false, channels: true } });
  const list = group.command("list", { isDefault: true }).description("channels, with what waits and what failed");
  act(list, (flags) =>
    printList(typed(flags), {
      rows: "channels",
      ask: ({ operator }) => operator.channels.list(),
      columns,
      empty: "None is configured. `channels.webhooks` in the configuration names them.",
      below: (channels, work) =>
        [...channels.map((one) => problemText(work, one)), ...channels.map((one) => deadText(work, one))].join(""),
    }),
  );
  const test = group.command("test").description("send a notice that says it is only a test").argument("<name>");
  act(test, (flags, [name = ""]) =>
    printAnswer(typed(flags), {
      ask: ({ operator }) => operator.channels.test({ name }),
      text: ({ delivered, problem = "" }, { terminal }) => {
        if (delivered) return `${visible(name)} took it.\n`;
        terminal.aside(`${visible(name)} did not take it. ${visible(problem)}\n`);
        return "";
      },
      code: ({ delivered }) => (delivered ? exitCodes.ok : exitCodes.failed),
    }),
  );
  act(group.command("retry").description("deliver again what failed").argument("<name>"), (flags, [name = ""]) =>
    printAnswer(typed(flags), {
      ask: ({ operator }) => operator.channels.retry({ name }),
      text: ({ retried }) =>
        retried === 0 ? "No notice had failed.\n" : `Trying again: ${counted(retried, "notice")}.\n`,
    }),
  );
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

/** In whole: it is why one looks. */
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
