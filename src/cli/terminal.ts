import { styleText } from "node:util";
import type { Risk } from "../core/call.ts";
import { exitCodes } from "./exit-codes.ts";

/** Where a command writes, and whether a person is there to read and answer. Injected, so that tests need no terminal. */
export interface Terminal {
  /** Results: what a pipe should get. */
  out(text: string | Uint8Array): void;
  /** Everything about the result: problems, hints, progress. */
  aside(text: string): void;
  readonly colour: boolean;
  /** Endless where no screen is: what a pipe gets is never cut. */
  readonly columns: number;
  readonly rows: number;
  /** False: nothing may prompt. */
  readonly interactive: boolean;
  /** Whether `out` goes to a screen, where control characters do harm. */
  readonly screen: boolean;
}

export function processTerminal(): Terminal {
  const { stdout, stderr, stdin } = process;
  const screen = stdout.isTTY === true;
  stdout.on("error", endUnread);
  stderr.on("error", goOn); // what is told beside an answer is not the answer
  return {
    out: (text) => void stdout.write(text),
    aside: (text) => void stderr.write(text),
    colour: screen && (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb",
    get columns() {
      return screen ? stdout.columns || 80 : Number.POSITIVE_INFINITY;
    },
    get rows() {
      return screen ? stdout.rows || 24 : Number.POSITIVE_INFINITY;
    },
    interactive: stdin.isTTY === true && screen,
    screen,
  };
}

/** For what others depend on: it ends when it is told to, not when whoever read what it prints has gone. */
export function outliveReaders(): void {
  process.stdout.off("error", endUnread).on("error", goOn);
}

function goOn(): void {}

/** Whoever read the answer has gone (`postern calls | head`), or the disk it goes to is full: it was not given. */
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
  return Object.hasOwn(riskStyles, risk) ? paint(riskStyles[risk as Risk], risk) : risk; // one of its keys, as was just asked
}
