import type { Json } from "@postern/core";
import type { PosternClient, ToolView } from "@postern/core/contract";
import { chainToolName } from "../../code-mode/names.ts";
import type { Health } from "../../runtime/api/api.ts";
import { asTypedHere, quoted } from "../command-name.ts";
import { refusedNote, toolTable } from "../commands/tools.ts";
import { getPython, lacksPython } from "../doctor/checks.ts";
import { paintFor, type Terminal } from "../output/terminal.ts";
import { visible, widthOf } from "../output/text.ts";
import { type ToolNow, toolsNow } from "../output/tool-verdicts.ts";
import { nearbyFolders } from "./data-folder.ts";

/** More tools than this are only counted. */
const mostRows = 100;

export interface BannerFacts {
  readonly version: string;
  readonly url: string;
  readonly file: string | undefined;
  readonly dataFolder: string;
  /** Whether this start made it: so a mistyped name is seen. */
  readonly isNew: boolean;
  readonly autonomy: string | undefined;
  readonly health: Health;
  /** How many names in the configuration match nothing. */
  readonly unmatched: number;
  /** What is wrong with the address it listens on. */
  readonly unprotected: string | undefined;
  readonly agent: PosternClient;
  readonly operator: PosternClient;
  /** Signs in once, while there are no accounts. */
  readonly signInUrl: string | undefined;
  /** How a person types the command here. */
  readonly command: string;
}

/** What `postern start` prints: addresses, tools with risk and verdict, commands to try next. */
export async function banner(facts: BannerFacts, terminal: Terminal): Promise<string> {
  const paint = paintFor(terminal);
  const { health, agent, operator } = facts;
  const { engines } = await operator.chains.list({ limit: 1 });
  const { tools } = await agent.tools.list();
  const shown = [...tools].sort((one, other) => Number(one.server !== undefined) - Number(other.server !== undefined));
  const rows = new Set(shown.slice(0, mostRows)); // our own tools first
  const listed = await toolsNow(
    operator.policy,
    tools.filter((tool) => rows.has(tool)),
  );
  const row = (name: string, text: string): string => `  ${paint("dim", name.padEnd(10))} ${text}\n`;
  const servers = health.servers.map(({ name, status, problem }) => {
    const word =
      status === "connected"
        ? paint("green", status)
        : status === "connecting"
          ? "connecting: its tools are offered as soon as it is connected"
          : status === "idle"
            ? "idle: started when a call needs it"
            : paint(
                "red",
                problem === undefined ? status : `${status}: ${asTypedHere(visible(problem), facts.command)}`,
              );
    return row("server", `${visible(name)} ${word}`);
  });
  return [
    `${paint("bold", `Postern ${facts.version}`)}  ${facts.url}\n`,
    row("console", consoleLine(facts, paint)),
    row("MCP", `${facts.url}/mcp`),
    row("HTTP", `${facts.url}/v1  (${facts.url}/openapi.json)`),
    row("config", facts.file ?? "none"),
    row("data", `${facts.dataFolder}  ${facts.isNew ? newFolder(facts.dataFolder) : tokens}`),
    row("autonomy", facts.autonomy ?? "none: thresholds decide"),
    ...servers,
    ...(lacksPython(engines) ? [row("scripts", getPython)] : []),
    ...(facts.unprotected === undefined ? [] : [row("warning", paint("red", facts.unprotected))]),
    ...(facts.unmatched === 0 ? [] : [row("warning", paint("red", unmatchedText(facts)))]),
    `\n${toolTable(listed, { paint, terminal, command: facts.command })}`,
    tools.length > listed.length ? `and ${tools.length - listed.length} more: ${facts.command} tools\n` : "",
    refusedNote(health.servers, paint),
    `\nTry next, in another terminal:\n`,
    ...nextCommands(listed, facts.command).map(
      ({ typed, why }) => `  ${typed}${" ".repeat(Math.max(2, 64 - widthOf(typed)))}${paint("dim", why)}\n`,
    ),
    "\n",
  ].join("");
}

function unmatchedText({ unmatched, command }: BannerFacts): string {
  const what =
    unmatched === 1 ? "1 name in the configuration matches" : `${unmatched} names in the configuration match`;
  return `${what} nothing, so what is written there does not apply: \`${command} policy warnings\``;
}

const tokens = "(tokens: agent.token, operator.token)";

function newFolder(folder: string): string {
  return `(new: a fresh installation was made there.${nearbyFolders(folder)})`;
}

function consoleLine({ url, signInUrl, command }: BannerFacts, paint: ReturnType<typeof paintFor>): string {
  if (signInUrl === undefined) return url;
  return `${signInUrl}\n  ${" ".repeat(10)} ${paint("dim", `signs you in once, within ten minutes; \`${command} accounts link\` makes another`)}`;
}

interface NextCommand {
  readonly typed: string;
  readonly why: string;
}

/** A critical tool is never suggested. */
const harmless: ReadonlySet<string> = new Set(["safe", "medium", "high"]);
const mostNext = 3;

/** Suggests a call that runs at once, one that asks a person, and where that person looks. Suggests no call that the policy refuses. */
export function nextCommands(tools: readonly ToolNow[], command: string): readonly NextCommand[] {
  const callable = tools.filter(
    ({ action: { tool, kind, effects, risk } }) =>
      kind === "local" && effects !== "destructive" && harmless.has(risk) && tool !== chainToolName, // a script is typed in a file
  );
  const which = (word: string): readonly ToolView[] =>
    callable.filter(({ now }) => now.word === word).map(({ action }) => action);
  const runs = which("runs").filter(({ risk }) => risk === "safe");
  const suggested = [
    [runs, "runs at once"],
    [which("asks"), "waits for a person"],
    [which("previews"), "shows what it would do"],
  ] as const;
  const calls = suggested.flatMap(([offered, why]) => {
    const tool = easiest(offered);
    return tool === undefined ? [] : [{ typed: callOf(tool, command), why }];
  });
  return [
    ...calls,
    { typed: `${command} approvals`, why: "what waits; then `approvals approve ID`, and the call again" },
    { typed: `${command} policy show`, why: "what each tool meets, and by which rule" },
    { typed: `${command} audit verify`, why: "checks the audit log" },
  ].slice(0, mostNext);
}

/** The tool that needs least typing; Postern's own tools first, because a server may be away. */
function easiest(tools: readonly ToolView[]): ToolView | undefined {
  const size = (tool: ToolView): number => requiredOf(tool).join(" ").length + (tool.server === undefined ? 0 : 1000);
  return [...tools].sort((a, b) => size(a) - size(b))[0];
}

function requiredOf({ input_schema: { required } }: ToolView): readonly string[] {
  return Array.isArray(required) ? required.filter((name: Json) => typeof name === "string") : [];
}

/** The reader fills in the values. */
function callOf(view: ToolView, command: string): string {
  const { tool, action } = view;
  const given = requiredOf(view).map((name) => ` ${quoted(`${name}=VALUE`)}`);
  return `${command} call ${quoted(tool)}${given.join("")}${action === "default" ? "" : ` --action ${quoted(action)}`}`;
}
