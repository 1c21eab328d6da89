import type { ExplanationWire, ToolWire } from "../../wire-tools.ts";
import { reasonText } from "../card.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { type Paint, paintRisk } from "../terminal.ts";
import { type Cell, labelled, table, visible, visibleLines } from "../text.ts";
import { sampleArguments } from "./arguments.ts";

/** What is offered to the agent, at which risk, and what a call would meet now. */
export async function listTools(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern(host, flags, { tools: true }, async (work) => {
    const tools = await work.agent.tools();
    if (work.json) printJson(work, { tools });
    else work.terminal.out(await toolTable(work, tools));
    return exitCodes.ok;
  });
}

export async function showTool(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern(host, flags, { tools: true }, async (work) => {
    const tool = await work.agent.showTool(name);
    if (work.json) printJson(work, tool);
    else for (const action of tool.actions) work.terminal.out(await toolText(work, action));
    return exitCodes.ok;
  });
}

export async function toolTable(
  work: Pick<Work, "agent" | "paint" | "terminal">,
  actions: readonly ToolWire[],
): Promise<string> {
  const { paint, terminal } = work;
  if (actions.length === 0) return "No tools are offered. Add `servers` or `tools` to postern.yaml.\n";
  const rows = await Promise.all(actions.map(async (action) => rowOf(action, await whatNow(work, action), paint)));
  const headings = ["TOOL", "RISK", "NOW", "FROM", "WHAT IT DOES"];
  return table(headings, rows, terminal.columns, (text) => paint("dim", text)) + blockedNote(actions, paint);
}

/** What changed behind the operator's back is worth a line of its own. */
function blockedNote(actions: readonly ToolWire[], paint: Paint): string {
  const blocked = actions.filter((action) => action.blocked !== undefined);
  const [first] = blocked;
  if (first === undefined) return "";
  const count = blocked.length === 1 ? "1 tool is blocked" : `${blocked.length} tools are blocked`;
  return `\n${paint("red", count)} until an operator approves what they have become: postern tools diff ${visible(first.tool)}\n`;
}

function rowOf(
  { tool, action, risk, server = "here", description }: ToolWire,
  now: WhatNow,
  paint: Paint,
): readonly (string | Cell)[] {
  return [
    `${tool}${action === "default" ? "" : ` · ${action}`}`,
    { text: risk, paint: (text) => text.replace(risk, paintRisk(paint, risk)) },
    now.word,
    server,
    description.split("\n")[0] ?? "",
  ];
}

interface WhatNow {
  readonly word: string;
  readonly explanation?: ExplanationWire;
}

const words = {
  ALLOW: "runs",
  CONFIRM: "asks",
  PREVIEW: "previews",
  BLOCK: "blocked",
  DENY: "denied",
} as const;

/** Asked with made-up arguments: nothing runs, and what depends on real ones is told when they come. */
async function whatNow(
  { agent }: Pick<Work, "agent">,
  { tool, action, input_schema, unavailable, blocked }: ToolWire,
): Promise<WhatNow> {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  try {
    const explanation = await agent.explain({
      tool,
      action,
      arguments: sampleArguments(input_schema),
    });
    if (explanation.decision !== undefined) return { word: words[explanation.decision.verdict], explanation };
    return { word: "depends", explanation }; // made-up arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // the list is worth more than one column of it
  }
}

async function toolText(work: Work, action: ToolWire): Promise<string> {
  const { paint } = work;
  const now = await whatNow(work, action);
  const line = labelled(paint, 10);
  const reasons = (now.explanation?.decision?.reasons ?? []).map(reasonText).join("; ");
  const title = `${paint("bold", visible(action.tool))}${action.action === "default" ? "" : ` · ${visible(action.action)}`}`;
  return [
    `${title}   risk ${paintRisk(paint, action.risk)} (${action.risk_source})\n`,
    ...visibleLines(action.description).map((text) => `  ${text}\n`),
    line("from", action.server ?? "here"),
    line("now", `${now.word}${reasons === "" ? "" : `: ${reasons}`}`),
    line("trouble", action.unavailable ?? ""),
    line("guess", guessText(action)),
    line("effects", action.effects),
    line("scopes", action.scopes.join(", ")),
    `  ${paint("dim", "arguments")}\n`,
    ...visibleLines(JSON.stringify(action.input_schema, undefined, 2)).map((text) => `    ${text}\n`),
  ].join("");
}

/** Until an operator states a risk it is `high` at least: what the tool looks like, and the line to write. */
function guessText({ tool, server = "", guess }: ToolWire): string {
  if (guess === undefined) return "";
  const own = tool.startsWith(`${server}__`) ? tool.slice(server.length + 2) : tool;
  return `looks ${guess.risk}, ${guess.effects} (${guess.why.join("; ")}). If so, write under servers.${server}.tools: ${own}: { risk: ${guess.risk}, effects: ${guess.effects} }`;
}
