import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Approver, ApproverAnswer } from "../approvals/approver.ts";
import type { ApprovalRecord } from "../core/records.ts";
import { shownApproval } from "../server/http/approval-view.ts";
import { cardLines } from "./card.ts";
import { type Paint, paintFor } from "./terminal.ts";
import { visible } from "./text.ts";

/**
 * How a terminal approver writes.
 *
 * @public
 */
export interface TerminalApproverOptions {
  readonly colour?: boolean;
  /** Monotonic, milliseconds. */
  readonly now?: () => number;
}

/**
 * Asks at the terminal: `y` approves; `n`, an empty line, anything else and the end of input deny (case 84). What is
 * longer than the screen, so that its beginning is out of sight, is approved by typing the tool's name.
 *
 * One question at a time: a second request waits until the first is answered. Withdrawing a request (`signal`) ends its
 * question, and a card that follows another takes no line in its first second, so that an answer never falls to another
 * question than the one it was meant for.
 *
 * @example
 * const runtime = await createRuntime({ tools, approvals: { approver: createTerminalApprover(), patience: "wait" } });
 *
 * @public
 */
export function createTerminalApprover(
  input: Readable = process.stdin,
  output: Writable = process.stderr,
  { colour = false, now = () => performance.now() }: TerminalApproverOptions = {},
): Approver {
  const paint = paintFor({ colour });
  let last: Promise<unknown> = Promise.resolve();
  let cards = 0;
  return {
    name: "terminal",
    ask(request, signal) {
      const mine = last.then(() => {
        cards += 1;
        const from = cards === 1 ? Number.NEGATIVE_INFINITY : now() + quietMs;
        return askOne(request, signal, { input, output, paint, takes: () => now() >= from });
      });
      last = mine.catch(() => undefined); // its failure is its own asker's; the next question still comes
      return mine;
    },
  };
}

interface ApproverScreen {
  readonly input: Readable;
  readonly output: Writable;
  readonly paint: Paint;
  /** Whether a line that comes now can be meant for this card. */
  readonly takes: () => boolean;
}

const quietMs = 1_000;

function askOne(
  request: ApprovalRecord,
  signal: AbortSignal,
  { input, output, paint, takes }: ApproverScreen,
): Promise<ApproverAnswer> {
  if (signal.aborted) return Promise.resolve({ decision: "denied", reason: "nobody waits for an answer any more" });
  const terminal = { columns: sizeOf(output, "columns") };
  const card = cardLines(shownApproval(request), request.requestedAt, { paint, terminal });
  const isLong = card.length > sizeOf(output, "rows") - linesOfQuestion;
  output.write(`\n${card.join("\n")}\n`);
  const lines = createInterface({ input, output, terminal: false });
  return new Promise((resolve) => {
    const end = (answer: ApproverAnswer): void => {
      signal.removeEventListener("abort", withdrawn);
      resolve(answer); // before the close, which is an answer of its own
      lines.close();
    };
    const withdrawn = (): void => {
      output.write("\n  (answered elsewhere, or nobody waits any more)\n");
      end({ decision: "denied", reason: "nobody waits for an answer any more" });
    };
    signal.addEventListener("abort", withdrawn, { once: true });
    lines.once("close", () => end({ decision: "denied", reason: "the terminal's input ended" }));
    const question = isLong ? `  ${longer(card.length, request.tool)} ` : "  Run it? [y/N] ";
    lines.on("line", (line) => {
      if (takes()) return end(answerOf(line, isLong ? request.tool : undefined));
      output.write(`  (too soon to be meant for this one)\n${question}`);
    });
    output.write(question);
  });
}

const linesOfQuestion = 3;

function longer(lines: number, tool: string): string {
  return `These are ${lines} lines, more than your screen shows: scroll up and read all of it. To run it, type \`${visible(tool)}\`:`;
}

/** What is no screen has no end. */
function sizeOf(
  output: Writable & { readonly columns?: unknown; readonly rows?: unknown },
  of: "columns" | "rows",
): number {
  const size = output[of];
  return typeof size === "number" && size > 0 ? size : Number.POSITIVE_INFINITY;
}

function answerOf(line: string, name: string | undefined): ApproverAnswer {
  const said = line.trim();
  const isYes = name === undefined ? /^y(?:es)?$/i.test(said) : said === name;
  if (isYes) return { decision: "approved", by: "operator" };
  return {
    decision: "denied",
    by: "operator",
    reason: said === "" ? "no answer given" : "denied at the terminal",
  };
}
