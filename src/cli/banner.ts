import type { Health } from "../runtime/api.ts";
import type { PosternClient } from "../server/client/client.ts";
import { asTypedHere } from "./command-name.ts";
import { refusedNote, toolTable } from "./commands/tools.ts";
import { otherwise } from "./data-folder.ts";
import { nextCommands } from "./next-commands.ts";
import { getPython, lacksPython } from "./running-checks.ts";
import { paintFor, type Terminal } from "./terminal.ts";
import { visible, widthOf } from "./text.ts";
import { askEach, type WaitingRequest } from "./what-now.ts";

/** More rows than this are no table for a start. */
const mostRows = 100;

export interface BannerFacts {
  readonly version: string;
  readonly url: string;
  readonly file: string | undefined;
  readonly dataFolder: string;
  /** It was not there: a mistyped name shows by this. */
  readonly isNew: boolean;
  readonly autonomy: string | undefined;
  readonly health: Health;
  /** So many names in the configuration match nothing. */
  readonly unmatched: number;
  readonly agent: PosternClient;
  readonly operator: PosternClient;
  /** In this process: a request for each tool would keep the agents' calls waiting. */
  readonly explain: WaitingRequest["explain"];
  /** Signs in once, while nobody has an account. */
  readonly signInUrl: string | undefined;
  /** How a person types the command here. */
  readonly command: string;
}

/** What `postern start` says: where it is, what is offered at which risk, what a call would meet, what to try next. */
export async function banner(facts: BannerFacts, terminal: Terminal): Promise<string> {
  const paint = paintFor(terminal);
  const { health, agent, explain, operator } = facts;
  const { engines } = await operator.chains.list({ limit: 1 });
  const { tools } = await agent.tools.list();
  const shown = [...tools].sort((one, other) => Number(one.server !== undefined) - Number(other.server !== undefined));
  const rows = new Set(shown.slice(0, mostRows)); // our own tools first
  const told = await askEach(
    { explain, policy: operator.policy },
    tools.filter((tool) => rows.has(tool)),
  );
  const row = (name: string, text: string): string => `  ${paint("dim", name.padEnd(10))} ${text}\n`;
  const servers = health.servers.map(({ name, status, problem }) => {
    const word =
      status === "connected"
        ? paint("green", status)
        : status === "connecting"
          ? "connecting: its tools are offered as soon as it is connected"
          : paint("red", problem === undefined ? status : `${status}: ${asTypedHere(visible(problem), facts.command)}`);
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
    ...(facts.unmatched === 0 ? [] : [row("warning", paint("red", unmatchedText(facts)))]),
    `\n${toolTable({ paint, terminal, command: facts.command }, told)}`,
    tools.length > told.length ? `and ${tools.length - told.length} more: ${facts.command} tools\n` : "",
    refusedNote(health.servers, paint),
    `\nTry next, in another terminal:\n`,
    ...nextCommands(told, facts.command).map(
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
  return `(new: a fresh installation was made there.${otherwise(folder)})`;
}

function consoleLine({ url, signInUrl, command }: BannerFacts, paint: ReturnType<typeof paintFor>): string {
  if (signInUrl === undefined) return url;
  return `${signInUrl}\n  ${" ".repeat(10)} ${paint("dim", `signs you in once, within ten minutes; \`${command} accounts link\` makes another`)}`;
}
