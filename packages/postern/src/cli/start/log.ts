import type { Clock } from "@postern/core";
import type { PolicyWarning } from "../../policy/report/unmatched.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { asTypedHere } from "../command-name.ts";
import type { Terminal } from "../output/terminal.ts";
import { timeOfDay, visible } from "../output/text.ts";

/** What the process reports beside its answers; never secrets, tokens or arguments. */
export interface Log {
  problem(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/**
 * Writes to standard error: a line for people on a screen, else a line of JSON.
 *
 * @param command how the next command is typed here
 */
export async function openLog(
  level: string,
  terminal: Pick<Terminal, "aside" | "screen">,
  command: string,
): Promise<Log> {
  const { pino } = await import("pino");
  const write = (line: string): void => terminal.aside(terminal.screen ? readable(line) : line);
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return {
    problem: (message) => log.warn(asTypedHere(message, command)),
    info: (message) => log.info(message),
    debug: (message) => log.debug(message),
  };
}

function readable(line: string): string {
  const { time, level, msg } = JSON.parse(line) as {
    readonly time: string;
    readonly level: string;
    readonly msg: string;
  }; // pino's own line
  return `${timeOfDay(time)} ${level.padEnd(5)} ${visible(msg)}\n`;
}

export const silentLog: Log = { problem() {}, info() {}, debug() {} };

/** A server that connects registers its tools one by one; they are checked together. */
const quietMs = 500;

/**
 * Logs each name in the configuration that matches nothing, once: now, and when the tools of a server become known or
 * change.
 */
export function reportNames(
  { policy, tools }: Pick<Runtime, "policy" | "tools">,
  { log, clock }: { readonly log: Pick<Log, "problem">; readonly clock: Clock },
): { readonly found: readonly PolicyWarning[]; stop(): void } {
  let logged = new Set<string>();
  const report = (): readonly PolicyWarning[] => {
    const found = policy.warnings().filter(({ code }) => code === "matches_no_tool");
    for (const { message, where } of found)
      if (!logged.has(message)) log.problem(where === undefined ? message : `${where}: ${message}`);
    logged = new Set(found.map(({ message }) => message));
    return found;
  };
  let cancel: (() => void) | undefined;
  const later = (): void => {
    cancel = undefined;
    report();
  };
  const found = report();
  const unfollow = tools.follow(() => {
    cancel ??= clock.in(quietMs, later, false);
  });
  return {
    found,
    stop: () => {
      unfollow();
      cancel?.();
    },
  };
}
