import { RuntimeFault } from "../../core/fault.ts";
import { reveal } from "../../mcp/client/reveal.ts";
import type { DefinitionView, DifferenceView, ToolChangesView } from "../../server/contract/tools.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { actorText, relative, visible } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";

export interface ApproveFlags extends GlobalFlags {
  readonly definition?: string;
  readonly all?: string;
  readonly reason?: string;
}

/** So many digits of a digest are shown, and as many are enough to name it. */
const shownDigits = 12;

export async function diffTool(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const changes = await work.operator.tools.changes({ name });
    if (work.json) printJson(work, changes);
    else work.terminal.out(diffText(work, changes) + howToApprove(work.command, changes));
    return exitCodes.ok;
  });
}

/** What is approved is what was fetched here, and is shown: never what the server put in its place meanwhile. */
export async function approveTools(
  host: Host,
  name: string | undefined,
  { definition, all, reason, ...flags }: ApproveFlags,
): Promise<ExitCode> {
  if ((name === undefined) === (all === undefined))
    throw new UsageProblem("Name one tool, or all blocked tools of a server with `--all SERVER`.");
  if (definition !== undefined && (all !== undefined || !/^[0-9a-f]{12,64}$/.test(definition)))
    throw new UsageProblem("`--definition` takes the 12 or more hex digits that `tools diff` shows, of one tool.");
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const names = name === undefined ? await blockedOf(work, all ?? "") : [name];
    const approved: ToolChangesView[] = [];
    for (const tool of names) {
      const changes = await work.operator.tools.changes({ name: tool });
      const digest = digestOf(changes);
      if (definition !== undefined && !digest.startsWith(definition)) throw differs(tool, digest, definition);
      if (!work.json) work.terminal.out(diffText(work, changes));
      approved.push(await work.operator.tools.approve({ name: tool, definition: digest, reason }));
      if (!work.json) work.terminal.out(`${work.paint("green", "approved")} ${visible(tool)}\n\n`);
    }
    if (work.json) printJson(work, { approved });
    else if (names.length === 0) work.terminal.out(`No tool of server ${visible(all ?? "")} is blocked.\n`);
    return exitCodes.ok;
  });
}

async function blockedOf({ operator }: Work, server: string): Promise<readonly string[]> {
  const { tools } = await operator.tools.list();
  const { servers } = await operator.health.show();
  if (!servers.some(({ name }) => name === server)) {
    const known = servers.map(({ name }) => name).join(", ");
    throw new UsageProblem(`There is no server \`${visible(server)}\`; there is ${known === "" ? "none" : known}.`);
  }
  return tools.filter((tool) => tool.server === server && tool.blocked !== undefined).map(({ tool }) => tool);
}

function digestOf({ pinned, offered }: ToolChangesView): string {
  return (offered ?? pinned)?.definition ?? "";
}

function differs(tool: string, now: string, looked: string): RuntimeFault {
  return new RuntimeFault(
    "definition_differs",
    `\`${tool}\` is now defined by ${now.slice(0, shownDigits)}, not by ${looked.slice(0, shownDigits)}: look again with \`postern tools diff ${tool}\`.`,
  );
}

const stateWords = {
  pinned: "as it is trusted",
  changed: "blocked: changed",
  new: "blocked: new",
} as const;

function diffText(work: Work, { tool, server, state, pinned, offered, differences }: ToolChangesView): string {
  const { paint } = work;
  const word = paint(state === "pinned" ? "green" : "red", stateWords[state]);
  return [
    `${paint("bold", visible(tool))}   ${word}   from ${visible(server)}\n`,
    definitionLine(work, "trusted", pinned),
    definitionLine(work, "now", offered),
    ...differences.map((difference) => differenceText(work, difference)),
  ].join("");
}

function definitionLine({ paint, now }: Work, label: string, kept: DefinitionView | undefined): string {
  if (kept === undefined) return "";
  const by =
    label === "now"
      ? "seen"
      : kept.by === undefined
        ? "as first seen"
        : `approved by ${visible(actorText(kept.by, kept.via))}`;
  const when = relative(Date.parse(kept.at), now());
  return `  ${paint("dim", label.padEnd(8))} ${kept.definition.slice(0, shownDigits)}  ${by} ${when}\n`;
}

function differenceText({ paint }: Work, { field, path, rows }: DifferenceView): string {
  const where = path === undefined ? field : `${field} ${reveal(path)}`;
  const lines = rows.map((row) => {
    const style = row.startsWith("+") ? "green" : row.startsWith("-") ? "red" : "dim";
    return `    ${paint(style, visible(row))}\n`;
  });
  return `\n  ${paint("cyan", where)}\n${lines.join("")}`;
}

function howToApprove(command: string, { tool, state, offered }: ToolChangesView): string {
  if (state === "pinned" || offered === undefined) return "";
  const digits = offered.definition.slice(0, shownDigits);
  return `\nTo trust exactly this: ${command} tools approve ${tool} --definition ${digits} --reason "…"\n`;
}
