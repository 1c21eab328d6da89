import type { HealthView, ToolView } from "../../server/contract/tools.ts";
import { reasonText } from "../card.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { actionText } from "../said.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { type Paint, paintRisk } from "../terminal.ts";
import { type Cell, fit, labelled, table, visible, visibleLines } from "../text.ts";
import { askEach, type UsedTool, type WaitingRequest, whatNow } from "../what-now.ts";

/** What is offered to the agent, at which risk, and what a call would meet now. */
export async function listTools(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const { tools } = await work.agent.tools.list();
    if (work.json) printJson(work, { tools });
    else {
      const { servers, rejected } = await work.operator.health.show();
      work.terminal.out(
        toolTable(work, await askEach(askedOf(work), tools)) + refusedNote(servers, work.paint, rejected),
      );
    }
    return exitCodes.ok;
  });
}

export async function showTool(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const tool = await work.agent.tools.show({ name });
    if (work.json) printJson(work, tool);
    else for (const action of tool.actions) work.terminal.out(await toolText(work, action));
    return exitCodes.ok;
  });
}

export function toolTable(
  { command, paint, terminal }: Pick<Work, "command" | "paint" | "terminal">,
  told: readonly UsedTool[],
): string {
  if (told.length === 0) return "No tools are offered. Add `servers` or `tools` to postern.yaml.\n";
  const rows = told.map((one) => rowOf(one, paint));
  const headings = ["TOOL", "RISK", "NOW", "FROM", "WHAT IT DOES"];
  const blocked = blockedNote(
    told.map(({ action }) => action),
    command,
    paint,
  );
  return table(headings, rows, { terminal, paint }) + blocked;
}

function askedOf({ agent, operator }: Work): WaitingRequest {
  return { explain: (call) => agent.calls.explain(call), policy: operator.policy };
}

/** What cannot be offered is missing above, so it is said: of servers, and of the operator's own folders. */
export function refusedNote(
  servers: HealthView["servers"],
  paint: Paint,
  rejected: HealthView["rejected"] = [],
): string {
  const lines = [...servers.flatMap(({ refused }) => refused), ...rejected].map(
    ({ tool, why }) => `  ${visible(tool)}: ${visible(why)}\n`,
  );
  return lines.length === 0 ? "" : `\n${paint("red", "Not offered")}, as they are defined:\n${lines.join("")}`;
}

/** What changed behind the operator's back is worth a line of its own. */
function blockedNote(actions: readonly ToolView[], command: string, paint: Paint): string {
  const blocked = actions.filter((action) => action.blocked !== undefined);
  const [first] = blocked;
  if (first === undefined) return "";
  const count = blocked.length === 1 ? "1 tool is blocked" : `${blocked.length} tools are blocked`;
  return `\n${paint("red", count)} until an operator approves what they have become: ${command} tools diff ${visible(first.tool)}\n`;
}

function rowOf({ action: offered, now }: UsedTool, paint: Paint): readonly (string | Cell)[] {
  const { risk, server = "here", description } = offered;
  return [
    actionText(offered),
    { text: risk, paint: (text) => text.replace(risk, paintRisk(paint, risk)) },
    now.word,
    server,
    fit(firstSentence(description), mostDescribed),
  ];
}

/** Also where no screen cuts it: a row is to be read, and `tools show` tells the rest. */
const mostDescribed = 100;

function firstSentence(text: string): string {
  const [first = ""] = text.trim().split(/(?<=[^.][.!?])\s|\n/, 1);
  return first;
}

async function toolText(work: Work, action: ToolView): Promise<string> {
  const { paint } = work;
  const now = await whatNow(askedOf(work).explain, action);
  const line = labelled(paint, 10);
  const reasons = (now.explanation?.decision?.reasons ?? []).map(reasonText).join("; ");
  return [
    `${paint("bold", visible(actionText(action)))}${action.title === undefined ? "" : ` ${visible(action.title)}`}   risk ${paintRisk(paint, action.risk)} (${action.risk_source})\n`,
    ...visibleLines(action.description).map((text) => `  ${text}\n`),
    line("from", action.server ?? "here"),
    line("now", `${asTypedHere(now.word, work.command)}${reasons === "" ? "" : `: ${reasons}`}`),
    line("trouble", asTypedHere(action.unavailable ?? "", work.command)),
    line("guess", guessText(action)),
    line("effects", action.effects),
    line("hints", hintsText(action)),
    line("icons", (action.icons ?? []).map(({ src }) => fit(String(src), mostDescribed)).join(", ")),
    line("meta", action.meta === undefined ? "" : fit(JSON.stringify(action.meta), mostDescribed)),
    line("scopes", action.scopes.join(", ")),
    ...schemaLines(paint("dim", "arguments"), action.input_schema),
    ...(action.output_schema === undefined ? [] : schemaLines(paint("dim", "result"), action.output_schema)),
  ].join("");
}

function schemaLines(heading: string, schema: object): readonly string[] {
  const lines = visibleLines(JSON.stringify(schema, undefined, 2)).map((text) => `    ${text}\n`);
  return [`  ${heading}\n`, ...lines];
}

/** What MCP clients are told. */
function hintsText({ annotations }: ToolView): string {
  return Object.entries(annotations)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

/** Until an operator states a risk it is `high` at least: what the tool looks like, and the line to write. */
function guessText({ tool, server = "", guess }: ToolView): string {
  if (guess === undefined) return "";
  const own = tool.startsWith(`${server}__`) ? tool.slice(server.length + 2) : tool;
  return `looks ${guess.risk}, ${guess.effects} (${guess.why.join("; ")}). If so, write under servers.${server}.tools: ${own}: { risk: ${guess.risk}, effects: ${guess.effects} }`;
}
