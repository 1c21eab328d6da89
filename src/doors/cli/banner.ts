import { chainToolName } from "../../chains/names.ts";
import type { Health } from "../../face.ts";
import type { PosternClient } from "../http/client.ts";
import type { ToolWire } from "../wire-tools.ts";
import { sampleArguments } from "./commands/arguments.ts";
import { toolTable } from "./commands/tools.ts";
import type { GlobalFlags } from "./host.ts";
import { paintFor, type Terminal } from "./terminal.ts";
import { visible, widthOf } from "./text.ts";

export interface BannerFacts {
  readonly version: string;
  readonly url: string;
  readonly file: string | undefined;
  readonly dataFolder: string;
  readonly autonomy: string | undefined;
  readonly health: Health;
  readonly agent: PosternClient;
  /** Signs in once, while nobody has an account. */
  readonly signInUrl: string | undefined;
  /** How a person types the command here. */
  readonly command: string;
}

/** What `postern start` says: where it is, what is offered at which risk, what a call would meet, what to try next. */
export async function banner(facts: BannerFacts, terminal: Terminal): Promise<string> {
  const paint = paintFor(terminal);
  const { health, agent } = facts;
  const tools = await agent.tools();
  const row = (name: string, text: string): string => `  ${paint("dim", name.padEnd(10))} ${text}\n`;
  const servers = health.servers.map(({ name, status, problem }) => {
    const word =
      status === "connected"
        ? paint("green", status)
        : paint("red", problem === undefined ? status : `${status}: ${visible(problem)}`);
    return row("server", `${visible(name)} ${word}`);
  });
  return [
    `${paint("bold", `Postern ${facts.version}`)}  ${facts.url}\n`,
    row("console", consoleLine(facts, paint)),
    row("MCP", `${facts.url}/mcp`),
    row("HTTP", `${facts.url}/v1  (${facts.url}/openapi.json)`),
    row("config", facts.file ?? "none"),
    row("data", `${facts.dataFolder}  (tokens: agent.token, operator.token)`),
    row("autonomy", facts.autonomy ?? "none: thresholds decide"),
    ...servers,
    `\n${await toolTable({ agent, paint, terminal }, tools)}`,
    `\nTry next, in another terminal:\n`,
    ...nextCommands(tools, facts.command).map(
      ([command, why]) => `  ${command}${" ".repeat(Math.max(2, 64 - widthOf(command)))}${paint("dim", why)}\n`,
    ),
    "\n",
  ].join("");
}

function consoleLine({ url, signInUrl }: BannerFacts, paint: ReturnType<typeof paintFor>): string {
  if (signInUrl === undefined) return url;
  return `${signInUrl}\n  ${" ".repeat(10)} ${paint("dim", "signs you in once, within ten minutes; `postern accounts link` makes another")}`;
}

/** Three that work as they stand: one that runs, one that needs a person, and where that person looks. */
export function nextCommands(
  tools: readonly ToolWire[],
  command: string,
): readonly (readonly [command: string, why: string])[] {
  const callable = tools.filter(
    ({ tool, kind, unavailable }) => kind === "local" && unavailable === undefined && tool !== chainToolName, // no sample is a script
  );
  const runs = pick(callable.filter(({ risk }) => risk === "safe"));
  const asks = pick(
    callable.filter(({ risk, effects }) => (risk === "medium" || risk === "high") && effects !== "destructive"),
  );
  return [
    ...(runs === undefined ? [] : [[callOf(runs, command), "runs at once"] as const]),
    ...(asks === undefined ? [] : [[callOf(asks, command), "waits for a person"] as const]),
    [`${command} approvals`, "what waits; then `approvals approve ID`, and the call again"],
    ...(runs === undefined || asks === undefined
      ? [[`${command} audit verify`, "the log of it all, checked"] as const]
      : []),
  ].slice(0, 3) as readonly (readonly [string, string])[]; // each is a pair
}

/** Our own tools first: they are there whatever became of a server. Of those, the one that needs least typing. */
function pick(tools: readonly ToolWire[]): ToolWire | undefined {
  const size = (tool: ToolWire): number =>
    JSON.stringify(sampleArguments(tool.input_schema)).length + (tool.server === undefined ? 0 : 1000);
  return [...tools].sort((a, b) => size(a) - size(b))[0];
}

function callOf({ tool, action, input_schema }: ToolWire, command: string): string {
  const given = Object.entries(sampleArguments(input_schema)).map(([name, value]) => {
    const text = typeof value === "string" ? (value === "x" ? "hello" : value) : JSON.stringify(value);
    return ` ${quoted(`${name}=${text}`)}`;
  });
  return `${command} call ${quoted(tool)}${given.join("")}${action === "default" ? "" : ` --action ${quoted(action)}`}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** As it works for the next command too: after `npm start` there is no `postern` on the path, and flags find this one again. */
export function commandName({ config, data }: Pick<GlobalFlags, "config" | "data">): string {
  const name = process.env["npm_lifecycle_event"] === undefined ? "postern" : "npx postern";
  const again = [
    ...(config === undefined ? [] : ["--config", quoted(config)]),
    ...(data === undefined ? [] : ["--data", quoted(data)]),
  ];
  return [name, ...again].join(" ");
}
