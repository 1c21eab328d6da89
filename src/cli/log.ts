import { asTypedHere } from "./command-name.ts";
import type { Terminal } from "./terminal.ts";
import { timeOfDay, visible } from "./text.ts";

/** What the process tells beside its answers; never secrets, tokens or arguments. */
export interface Log {
  problem(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/**
 * On a screen a line for people, else JSON lines: both on standard error, where they never mix with answers.
 *
 * @param command as it is typed here: a problem may name the next one
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
