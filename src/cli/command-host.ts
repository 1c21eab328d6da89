/** What commands need of this process: its configuration, its folder, and a Postern for the length of one command. */
import { readFileSync } from "node:fs";
import type { AgentScript } from "../agents/script.ts";
import { ConfigProblems } from "../config/problem.ts";
import type { Settings } from "../config/settings.ts";
import { SystemClock } from "../core/clock.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { ClientProblem } from "../server/client/client.ts";
import type { NamedText } from "../server/policy-reader.ts";
import { asTypedHere, commandName } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { GlobalFlags, Host, Inspected, StartFlags } from "./host.ts";
import { silentLog } from "./log.ts";
import { createProgram } from "./program.ts";
import type { Terminal } from "./terminal.ts";
import { visibleLines } from "./text.ts";
import { UsageProblem } from "./usage-problem.ts";
import { wire } from "./wiring.ts";

export const version: string = versionOf(
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")),
);

/** @param start serves until it is told to stop: the one thing that only the process itself can do */
export function createHost(terminal: Terminal, start: Host["start"]): Host {
  const clock = new SystemClock();
  const startInside = insideFor(terminal);
  return { terminal, clock, dataFolder, wantedPort, startInside, start, inspect, agentScript, configurationText };
}

/** One command to its end. What goes wrong is told in a sentence, and in the exit code. */
export async function runCommand(host: Host, words: readonly string[]): Promise<ExitCode> {
  const { terminal } = host;
  const program = createProgram(host, version);
  try {
    return await program.run(words);
  } catch (error) {
    const expected = [RuntimeFault, ConfigProblems, ClientProblem, UsageProblem].some((kind) => error instanceof kind);
    const isVerbose = words.includes("--verbose");
    const said = `postern: ${asTypedHere(messageOf(error), program.command)}`;
    const told = isVerbose && error instanceof Error ? (error.stack ?? said) : said;
    terminal.aside(`${visibleLines(told).join("\n")}\n`); // what was typed, or stands in a file, may hold anything
    if (!expected && !isVerbose) terminal.aside("This should not happen; `--verbose` shows where it did.\n");
    const isTyping = error instanceof UsageProblem || (error instanceof ConfigProblems && error.isTyping);
    return isTyping ? exitCodes.usage : exitCodes.failed;
  }
}

export async function settingsFor(flags: StartFlags): Promise<Settings> {
  const { loadConfig } = await import("../config/load.ts");
  return loadConfig({ flags, environment: process.env, folder: process.cwd() });
}

async function dataFolder(flags: GlobalFlags): Promise<string> {
  const { resolve } = await import("node:path");
  const { loadOverrides } = await import("../config/load.ts");
  const { data } = loadOverrides({ flags, environment: process.env });
  return data === undefined ? (await settingsFor(flags)).dataFolder : resolve(data);
}

function wantedPort({ port }: GlobalFlags): number | undefined {
  const said = port ?? process.env["POSTERN_PORT"];
  const wanted = /^\d{1,5}$/.test(said ?? "") ? Number(said) : 0;
  return wanted === 0 ? undefined : wanted; // 0 is any free one: nobody can be asked there
}

async function inspect(flags: GlobalFlags): Promise<Inspected> {
  const [{ codeNearby }, { mistypedVariables }] = await Promise.all([
    import("../config/find-file.ts"),
    import("../config/overrides.ts"),
  ]);
  const settings = await settingsFor(flags);
  return {
    ...settings,
    mistyped: mistypedVariables(process.env),
    codeNearby: settings.file === undefined ? codeNearby(process.cwd()) : undefined,
  };
}

async function agentScript(named: NamedText): Promise<AgentScript> {
  return (await import("../config/agent-script.ts")).readAgentScript(named);
}

async function configurationText(flags: GlobalFlags, named?: string): Promise<NamedText> {
  const [{ resolve }, text, { noConfiguration }, { openNamed }] = await Promise.all([
    import("node:path"),
    import("../config/policy-text.ts"),
    import("../config/find-file.ts"),
    import("./named-files.ts"),
  ]);
  const file = named === undefined ? (await settingsFor(flags)).file : resolve(named);
  if (file === undefined) throw noConfiguration(process.cwd());
  if (named !== undefined) await (await openNamed(named)).close();
  return text.configurationText(file, process.cwd());
}

/** Answers requests of this process alone: its name is no address, so nothing outside can mean it. */
function insideFor(terminal: Terminal): Host["startInside"] {
  return async (flags, needs) => {
    const beside = (message: string): void => terminal.aside(`postern: ${asTypedHere(message, commandName(flags))}\n`);
    const log = { ...silentLog, problem: needs.problem ?? beside };
    const wired = await wire(await settingsFor(flags), needs, { log, version });
    wired.hosts = ["postern.inside"];
    return {
      url: "http://postern.inside",
      send: (request) => wired.door.fetch(request),
      close: () => wired.close(),
    };
  };
}

function versionOf(manifest: unknown): string {
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "0.0.0";
}
