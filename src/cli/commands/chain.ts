import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { RuntimeFault } from "../../core/fault.ts";
import type { ChainScript } from "../../core/scripts.ts";
import type { ChainPage } from "../../server/contract/chains.ts";
import { outcomeText } from "../command-name.ts";
import { type ExitCode, exitCodeOf, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { readNamed } from "../named-files.ts";
import { tellOfMore, upTo } from "../pages.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { relative, table, visibleLines } from "../text.ts";
import { type CallFlags, call } from "./call.ts";
import { oneOf, wholeNumber } from "./typed.ts";

type Language = NonNullable<ChainScript["language"]>;

const languages: readonly Language[] = ["python", "javascript", "typescript"];
const byExtension: ReadonlyMap<string, Language> = new Map<string, Language>([
  [".py", "python"],
  [".js", "javascript"],
  [".mjs", "javascript"],
  [".ts", "typescript"],
  [".mts", "typescript"],
]);

export interface ChainRunFlags extends Omit<CallFlags, "action" | "args"> {
  readonly language?: string;
  readonly timeout?: string;
}

export async function runChain(host: Host, file: string, flags: ChainRunFlags): Promise<ExitCode> {
  const { language: said, timeout, ...rest } = flags;
  const language = said === undefined ? byExtension.get(extname(file)) : oneOf(said, languages, "--language");
  const script: ChainScript = {
    code: await sourceOf(file),
    ...(language !== undefined && { language }),
    ...(timeout !== undefined && { timeout: wholeNumber(timeout, "--timeout") }),
  };
  return call(host, { tool: "tool_chain", words: [] }, { ...rest, args: JSON.stringify(script) });
}

async function sourceOf(file: string): Promise<string> {
  if (file === "-") return text(process.stdin);
  return readNamed(file, "The script ");
}

export interface ChainListFlags extends GlobalFlags {
  readonly run?: string;
  readonly limit?: string;
}

export async function listChains(host: Host, flags: ChainListFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit ?? "100", "--limit");
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    let engines: ChainPage["engines"] = [];
    const { rows: chains, next } = await upTo(limit, async (most, from?: string) => {
      const page = await work.operator.chains.list({ run_id: flags.run, limit: most, before: from });
      engines = page.engines;
      return { rows: page.chains, next: page.next_before };
    });
    if (work.json) printJson(work, { chains, next_before: next, engines });
    else work.terminal.out(`${chainTable(work, chains)}${engineLines(work, engines)}`);
    tellOfMore(work, next !== undefined);
    return exitCodes.ok;
  });
}

function chainTable({ paint, terminal, now }: Work, chains: ChainPage["chains"]): string {
  if (chains.length === 0) return "No script runs, waits or was cut short.\n";
  const rows = chains.map(({ call_id, state, requested_by, run_id, since, waiting, source }) => [
    call_id,
    state,
    requested_by.agent,
    run_id,
    relative(Date.parse(since), now()),
    waiting.map(({ tool, line }) => (line === undefined ? tool : `${tool} (line ${line})`)).join(", "),
    source.trim().split("\n", 1)[0] ?? "",
  ]);
  const headings = ["SCRIPT", "STATE", "AGENT", "RUN", "SINCE", "WAITS FOR", "SOURCE"];
  const advice = chains.find(({ state }) => state === "interrupted")?.advice;
  return `${table(headings, rows, { terminal, paint })}${advice === undefined ? "" : `${paint("dim", "Interrupted")}\n  ${advice}\n`}`;
}

function engineLines({ paint }: Work, engines: ChainPage["engines"]): string {
  const lines = engines.map(
    ({ name, language, problem = "ready" }) => `  ${name}${language === undefined ? "" : ` (${language})`}: ${problem}`,
  );
  return lines.length === 0
    ? "Code mode is off.\n"
    : `${paint("dim", "Engines")}\n${visibleLines(lines.join("\n")).join("\n")}\n`;
}

export async function resumeChain(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  if (id === "")
    throw new RuntimeFault("call_missing", "Name the script by its call id; `postern chain list` shows them.");
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const outcome = await work.operator.chains.resume({ id }); // a person's act, as deciding is: it bears a name in the log
    if (work.json) printJson(work, outcome);
    else work.terminal.out(`${visibleLines(outcomeText(outcome, work.command)).join("\n")}\n`);
    return exitCodeOf({ status: outcome.status, code: outcome.refusal?.code });
  });
}
