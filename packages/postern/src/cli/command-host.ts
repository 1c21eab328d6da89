/** Runs one command of this process: its terminal, its configuration, its exit code. */
import { readFileSync } from "node:fs";
import { isRecord, messageOf, RuntimeFault, SystemClock } from "@postern/core";
import { ConfigProblems } from "../config/problem.ts";
import { ClientProblem } from "../server/client/client-problem.ts";
import { asTypedHere, commandName } from "./command-name.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import type { Host } from "./host.ts";
import type { Terminal } from "./output/terminal.ts";
import { visibleLines } from "./output/text.ts";
import { createProgram } from "./program.ts";
import { dataFolderFor, settingsFor, wantedPort } from "./settings-here.ts";
import { silentLog } from "./start/log.ts";
import { UsageProblem } from "./usage-problem.ts";

const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
export const version: string = isRecord(manifest) ? String(manifest["version"]) : "0.0.0";

/** @param start serves until it is stopped; only the process itself can do that */
export function createHost(terminal: Terminal, start: Host["start"]): Host {
  return {
    ...{ terminal, clock: new SystemClock(), dataFolder: dataFolderFor, wantedPort, start },
    startInside: async (flags, needs) => {
      const beside = (message: string): void =>
        terminal.aside(`postern: ${asTypedHere(message, commandName(flags))}\n`);
      const log = { ...silentLog, problem: needs.problem ?? beside };
      const { wire } = await import("./start/wiring.ts");
      const wired = await wire(await settingsFor(flags), needs, { log, version });
      wired.hosts = ["postern.inside"]; // a name that no address has
      return {
        url: "http://postern.inside",
        send: (request) => wired.server.fetch(request),
        close: () => wired.close(),
      };
    },
  };
}

/** Runs one command to its end. A problem is printed as one sentence, and decides the exit code. */
export async function runCommand(host: Host, words: readonly string[]): Promise<ExitCode> {
  const { terminal } = host;
  const program = createProgram(host, version);
  try {
    return await program.run(words);
  } catch (error) {
    const expected = [RuntimeFault, ConfigProblems, ClientProblem, UsageProblem].some((kind) => error instanceof kind);
    const isVerbose = words.includes("--verbose");
    const sentence = `postern: ${asTypedHere(messageOf(error), program.command)}`;
    const text = isVerbose && error instanceof Error ? (error.stack ?? sentence) : sentence;
    terminal.aside(`${visibleLines(text).join("\n")}\n`); // it may repeat what was typed or what a file holds
    if (!expected && !isVerbose) terminal.aside("This should not happen; `--verbose` shows where it did.\n");
    const isUsage = error instanceof UsageProblem || (error instanceof ConfigProblems && error.isTyping);
    return isUsage ? exitCodes.usage : exitCodes.failed;
  }
}
