import { actionText } from "@postern/core";
import type { HealthView, ToolView } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { asTypedHere } from "../command-name.ts";
import { reasonText } from "../output/card.ts";
import type { Work } from "../output/print.ts";
import { type Paint, paintRisk } from "../output/terminal.ts";
import { fit, labelled, type Sheet, table, visible, visibleLines } from "../output/text.ts";
import { type ToolNow, toolsNow } from "../output/tool-verdicts.ts";
import { pinCommands } from "./pins.ts";

const needs = { tools: true } as const;

export function commands(group: CommandGroup): void {
  group.answer("list [name]", "all of them; with a name one of them, with its schema", {
    isDefault: true,
    needs,
    ask: async ({ agent }, { name }) =>
      name === undefined ? await agent.tools.list() : await agent.tools.show({ name }),
    text: async (answer, work) =>
      "tools" in answer
        ? listText(answer, work)
        : (await toolsNow(work.operator.policy, answer.actions)).map((tool) => toolText(tool, work)).join(""),
  });
  pinCommands(group);
}

async function listText({ tools }: { readonly tools: readonly ToolView[] }, work: Work): Promise<string> {
  const { servers, rejected } = await work.operator.health.show();
  return toolTable(await toolsNow(work.operator.policy, tools), work) + refusedNote(servers, work.paint, rejected);
}

/** Descriptions are cut without a screen too: a row must stay readable, and `tools NAME` shows the rest. */
const mostDescribed = 100;

export function toolTable(tools: readonly ToolNow[], sheet: Sheet & Pick<Work, "command">): string {
  const { paint, command } = sheet;
  if (tools.length === 0) return "No tools are offered. Add `servers` or `tools` to postern.yaml.\n";
  const rows = tools.map(({ action, now }) => [
    actionText(action),
    { text: action.risk, paint: (text: string) => text.replace(action.risk, paintRisk(paint, action.risk)) },
    now.word,
    action.server ?? "here",
    fit(firstSentence(action.description), mostDescribed),
  ]);
  const blocked = tools.filter(({ action }) => action.blocked !== undefined);
  const count = blocked.length === 1 ? "1 tool is blocked" : `${blocked.length} tools are blocked`;
  const note = `\n${paint("red", count)} until an operator approves its new definition: ${command} tools diff ${visible(blocked[0]?.action.tool ?? "")}\n`;
  return table(["TOOL", "RISK", "NOW", "FROM", "WHAT IT DOES"], rows, sheet) + (blocked.length === 0 ? "" : note);
}

/** Tools of servers and folders that are missing in the table. */
export function refusedNote(
  servers: readonly Pick<HealthView["servers"][number], "refused">[],
  paint: Paint,
  rejected: HealthView["rejected"] = [],
): string {
  const lines = [...servers.flatMap(({ refused }) => refused), ...rejected].map(
    ({ tool, why }) => `  ${visible(tool)}: ${visible(why)}\n`,
  );
  return lines.length === 0 ? "" : `\n${paint("red", "Not offered")}, as they are defined:\n${lines.join("")}`;
}

function firstSentence(text: string): string {
  const [first = ""] = text.trim().split(/(?<=[^.][.!?])\s|\n/, 1);
  return first;
}

function toolText({ action, now }: ToolNow, { paint, command }: Work): string {
  const line = labelled(paint, 10);
  const { title = "", annotations, icons = [], meta, output_schema: output } = action;
  return [
    `${paint("bold", visible(actionText(action)))}${title === "" ? "" : ` ${visible(title)}`}   risk ${paintRisk(paint, action.risk)} (${action.risk_source})\n`,
    ...visibleLines(action.description).map((text) => `  ${text}\n`),
    line("from", action.server ?? "here"),
    line("now", `${now.word}${now.by === undefined ? "" : `: ${reasonText(now.by)}`}`),
    line("trouble", asTypedHere(action.unavailable ?? "", command)),
    line("guess", guessText(action)),
    line("effects", action.effects),
    line(
      "hints",
      Object.entries(annotations)
        .map((entry) => entry.join(" "))
        .join(", "),
    ),
    line("icons", icons.map(({ src }) => fit(String(src), mostDescribed)).join(", ")),
    line("meta", meta === undefined ? "" : fit(JSON.stringify(meta), mostDescribed)),
    line("scopes", action.scopes.join(", ")),
    schemaText(paint("dim", "arguments"), action.input_schema),
    output === undefined ? "" : schemaText(paint("dim", "result"), output),
  ].join("");
}

function schemaText(heading: string, schema: object): string {
  const lines = visibleLines(JSON.stringify(schema, undefined, 2)).map((text) => `    ${text}\n`);
  return `  ${heading}\n${lines.join("")}`;
}

/** Until an operator states a risk it is at least `high`. Says what the tool looks like, and the line to write. */
function guessText({ tool, server = "", guess }: ToolView): string {
  if (guess === undefined) return "";
  const own = tool.startsWith(`${server}__`) ? tool.slice(server.length + 2) : tool;
  return `looks ${guess.risk}, ${guess.effects} (${guess.why.join("; ")}). If so, write under servers.${server}.tools: ${own}: { risk: ${guess.risk}, effects: ${guess.effects} }`;
}
