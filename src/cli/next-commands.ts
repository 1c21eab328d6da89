import { chainToolName } from "../code-mode/names.ts";
import type { ToolView } from "../server/contract/tools.ts";
import { quoted } from "./command-name.ts";
import { sampleArguments } from "./commands/arguments.ts";
import type { UsedTool } from "./what-now.ts";

export interface NextCommand {
  readonly typed: string;
  readonly why: string;
}

/** What is never tried for the sake of trying. */
const harmless: ReadonlySet<string> = new Set(["safe", "medium", "high"]);
const most = 3;

/**
 * What to type now, as the policy in force has it: a call that is answered at once, one that a person is asked about, and
 * where that person looks. What the policy would not let through is not offered.
 */
export function nextCommands(told: readonly UsedTool[], command: string): readonly NextCommand[] {
  const callable = told.filter(
    ({ action: { tool, kind, effects, risk } }) =>
      kind === "local" && effects !== "destructive" && harmless.has(risk) && tool !== chainToolName, // no sample is a script
  );
  const which = (word: string): readonly ToolView[] =>
    callable.filter(({ now: { tried, word: told } }) => (tried ?? told) === word).map(({ action }) => action);
  const runs = which("runs").filter(({ risk }) => risk === "safe");
  const calls = [
    nextCall(pick(runs), command, "runs at once"),
    nextCall(pick(which("asks")), command, "waits for a person"),
    nextCall(pick(which("previews")), command, "shows what it would do"),
  ].flatMap((call) => call ?? []);
  return [
    ...calls,
    { typed: `${command} approvals`, why: "what waits; then `approvals approve ID`, and the call again" },
    { typed: `${command} policy show`, why: "what each tool meets, and by which rule" },
    { typed: `${command} audit verify`, why: "the log of it all, checked" },
  ].slice(0, most);
}

/** Our own tools first: they are there whatever became of a server. Of those, the one that needs least typing. */
function pick(tools: readonly ToolView[]): ToolView | undefined {
  const size = (tool: ToolView): number =>
    JSON.stringify(sampleArguments(tool.input_schema)).length + (tool.server === undefined ? 0 : 1000);
  return [...tools].sort((a, b) => size(a) - size(b))[0];
}

function nextCall(tool: ToolView | undefined, command: string, why: string): NextCommand | undefined {
  return tool === undefined ? undefined : { typed: callOf(tool, command), why };
}

function callOf({ tool, action, input_schema }: ToolView, command: string): string {
  const given = Object.entries(sampleArguments(input_schema)).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return ` ${quoted(`${name}=${text}`)}`;
  });
  return `${command} call ${quoted(tool)}${given.join("")}${action === "default" ? "" : ` --action ${quoted(action)}`}`;
}
