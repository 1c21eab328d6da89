import { counted } from "../../../calls/shown.ts";
import type { Channel } from "../../contract/channels.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { relative, table, visible } from "../text.ts";

const needs = { tools: false, channels: true } as const;
/** Of what was given up, the last ones. */
const mostShown = 5;

export async function listChannels(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs }, async (work) => {
    const { channels } = await work.operator.api.channels.list();
    if (work.json) printJson(work, { channels });
    else if (channels.length === 0)
      work.terminal.out("None is configured. `channels.webhooks` in the configuration names them.\n");
    else
      work.terminal.out(
        channelTable(work, channels) +
          channels.map((one) => problemText(work, one)).join("") +
          channels.map((one) => deadText(work, one)).join(""),
      );
    return exitCodes.ok;
  });
}

export async function testChannel(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs }, async (work) => {
    const sent = await work.operator.api.channels.test({ name });
    if (work.json) printJson(work, sent);
    else if (sent.delivered) work.terminal.out(`${visible(name)} took it.\n`);
    else work.terminal.aside(`${visible(name)} did not take it. ${visible(sent.problem ?? "")}\n`);
    return sent.delivered ? exitCodes.ok : exitCodes.failed;
  });
}

export async function retryChannel(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs }, async (work) => {
    const { retried } = await work.operator.api.channels.retry({ name });
    if (work.json) printJson(work, { retried });
    else work.terminal.out(retried === 0 ? "Nothing was given up.\n" : `Tried anew: ${counted(retried, "notice")}.\n`);
    return exitCodes.ok;
  });
}

function channelTable({ paint, terminal, now }: Work, channels: readonly Channel[]): string {
  const rows = channels.map(({ name, kind, target, waiting, delivered, dead, last_delivered_at }) => [
    name,
    kind,
    target,
    String(delivered),
    last_delivered_at === undefined ? "never" : relative(Date.parse(last_delivered_at), now()),
    String(waiting),
    { text: String(dead.length), paint: (text: string) => (dead.length > 0 ? paint("red", text) : text) },
  ]);
  const headings = ["CHANNEL", "KIND", "TARGET", "DELIVERED", "LAST", "WAITING", "GIVEN UP"];
  return table(headings, rows, { terminal, paint });
}

/** In whole: it is why one looks. */
function problemText({ command, paint }: Work, { name, problem }: Channel): string {
  return problem === undefined ? "" : `${paint("red", visible(name))}: ${asTypedHere(visible(problem), command)}\n`;
}

function deadText({ command, paint, now }: Work, { name, dead }: Channel): string {
  if (dead.length === 0) return "";
  const lines = dead
    .slice(-mostShown)
    .map(({ type, at, entry, problem }) =>
      visible(`  ${type} (entry ${entry}), ${relative(Date.parse(at), now())}: ${problem}`),
    );
  return `\n${paint("bold", visible(name))} gave up ${dead.length}; \`${command} channels retry ${visible(name)}\` tries them anew:\n${lines.join("\n")}\n`;
}
