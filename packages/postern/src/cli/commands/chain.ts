import { extname } from "node:path";
import { text } from "node:stream/consumers";
import { type ChainScript, RuntimeFault } from "@postern/core";
import { type Chain, type ChainPage, chains } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { outcomeText } from "../command-name.ts";
import { exitCodeOf } from "../exit-codes.ts";
import { flagsOf, ofRun, oneOf, rowLimit, wholeNumber } from "../flags.ts";
import { readNamed } from "../named-files.ts";
import { ago, type Columns, type Work } from "../output/print.ts";
import { visibleLines } from "../output/text.ts";
import { call, claimFlags, waitOption } from "./call.ts";

type Language = NonNullable<ChainScript["language"]>;

const languages: readonly Language[] = ["python", "javascript", "typescript"];
const byExtension: ReadonlyMap<string, Language> = new Map<string, Language>([
  [".py", "python"],
  [".js", "javascript"],
  [".mjs", "javascript"],
  [".ts", "typescript"],
  [".mts", "typescript"],
]);

export function commands(group: CommandGroup): void {
  group.run("run <file>", "run a script as the agent; the same file run again goes on where it waited for a person", {
    words: { "<file>": "`-` reads standard input" },
    flags: claimFlags,
    options: {
      "--language <name>": "python, javascript or typescript; by the file's name when left out, else by its text",
      "--timeout <seconds>": "how long it may take; waiting for a person does not count",
      ...waitOption,
    },
    run: async ({ sent: { file, ...claims }, options: { language: named, timeout, wait }, ...typed }) => {
      const language = named === undefined ? byExtension.get(extname(file)) : oneOf(named, languages, "--language");
      const limit = timeout === undefined ? {} : { timeout: wholeNumber(timeout, "--timeout") };
      const code = file === "-" ? await text(process.stdin) : await readNamed(file, "The script ");
      const script = { code, ...(language !== undefined && { language }), ...limit };
      return call(typed, { ...claims, tool: "tool_chain" }, { args: JSON.stringify(script), ...(wait && { wait }) });
    },
  });
  group.list("list", "scripts that run, wait for a person or were cut short, and the engines there are", {
    isDefault: true,
    flags: flagsOf(chains.list.query, { run_id: ofRun, before: "page", limit: rowLimit(100) }),
    needs: { tools: true },
    rows: "chains",
    ask: ({ operator }, sent) => operator.chains.list(sent),
    columns,
    empty: "No script runs, waits or was cut short.",
    below: belowTable,
  });
  group.answer("resume <id>", "let a script go on that waits or was cut short, by its call id", {
    needs: { tools: true },
    ask: async ({ operator }, { id }) => {
      if (id !== "") return operator.chains.resume({ id }); // by the operator, as a decision: the log names a person
      throw new RuntimeFault("request_invalid", "Name the script by its call id; `postern chain list` shows them.");
    },
    text: (outcome, { command }) => `${visibleLines(outcomeText(outcome, command)).join("\n")}\n`,
    code: ({ status, refusal }) => exitCodeOf({ status, code: refusal?.code }),
  });
}

const columns: Columns<Chain> = {
  SCRIPT: ({ call_id }) => call_id,
  STATE: ({ state }) => state,
  AGENT: ({ requested_by }) => requested_by.agent,
  RUN: ({ run_id }) => run_id,
  SINCE: ({ since }, work) => ago(since, work),
  "WAITS FOR": ({ waiting }) =>
    waiting.map(({ tool, line }) => (line === undefined ? tool : `${tool} (line ${line})`)).join(", "),
  SOURCE: ({ source }) => source.trim().split("\n", 1)[0],
};

function belowTable({ chains: scripts, engines }: ChainPage, { paint }: Work): string {
  const advice = scripts.find(({ state }) => state === "interrupted")?.advice;
  const lines = engines.map(
    ({ name, language, problem = "ready" }) => `  ${name}${language === undefined ? "" : ` (${language})`}: ${problem}`,
  );
  return [
    advice === undefined ? "" : `${paint("dim", "Interrupted")}\n  ${advice}\n`,
    lines.length === 0
      ? "Code mode is off.\n"
      : `${paint("dim", "Engines")}\n${visibleLines(lines.join("\n")).join("\n")}\n`,
  ].join("");
}
