import { styleText } from "node:util";
import type { Risk } from "@postern/core";
import { exitCodes } from "../exit-codes.ts";

/** Where a command writes, and whether a person can answer. */
export interface Terminal {
  /** Results: what a pipe gets. */
  out(text: string | Uint8Array): void;
  /** Problems, hints, progress. */
  aside(text: string): void;
  readonly colour: boolean;
  /** Without a screen endless: output to a pipe is never cut. */
  readonly columns: number;
  /** False: nothing may prompt. */
  readonly interactive: boolean;
  /** Whether `out` goes to a screen, where control characters do harm. */
  readonly screen: boolean;
}

export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process;
  const screen = stdout.isTTY === true;
  stdout.on("error", endUnread);
  stderr.on("error", ignoreError); // it carries no answers
  return {
    out: (text) => void stdout.write(text),
    aside: (text) => void stderr.write(text),
    colour: screen && (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb",
    get columns() {
      return screen ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
    },
    interactive: stdin.isTTY === true && screen,
    screen,
  };
}

/** For a server: it goes on when the reader of its output has gone. */
export function outliveReaders(): void {
  process.stdout.off("error", endUnread).on("error", ignoreError);
}

function ignoreError(): void {}

/** The reader has gone (`postern calls | head`), or the disk is full: the answer is incomplete. */
function endUnread(error: NodeJS.ErrnoException): never {
  if (error.code !== "EPIPE") process.stderr.write(`postern: The answer cannot be written: ${error.message}.\n`);
  process.exit(exitCodes.failed);
}

type Style = "bold" | "dim" | "red" | "yellow" | "green" | "cyan" | "magenta";
export type Paint = (style: Style, text: string) => string;

export function paintFor(terminal: Pick<Terminal, "colour">): Paint {
  return (style, text) => (terminal.colour ? styleText(style, text, { validateStream: false }) : text);
}

const riskStyles: Readonly<Record<Risk, Style>> = {
  safe: "green",
  medium: "cyan",
  high: "yellow",
  critical: "red",
};

/** Colour never carries the meaning alone: the word stays. */
export function paintRisk(paint: Paint, risk: string): string {
  return Object.hasOwn(riskStyles, risk) ? paint(riskStyles[risk as Risk], risk) : risk; // it is one of the keys
}

const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Ctrl-C, the stop of a service, and the end of the terminal. */
export type EndSignal = (typeof endSignals)[number];

/**
 * Calls `then` at the first of these signals. Later ones end the process, as without it. Returns a function that stops waiting.
 *
 * @param hangUp whether SIGHUP is one of them
 */
export function onEndSignal(then: (signal: EndSignal) => void, hangUp = true): () => void {
  const awaited = endSignals.filter((signal) => hangUp || signal !== "SIGHUP");
  const stop = (): void => {
    for (const signal of awaited) process.off(signal, act);
  };
  const act = (signal: EndSignal): void => {
    stop();
    then(signal);
  };
  for (const signal of awaited) process.on(signal, act);
  return stop;
}
