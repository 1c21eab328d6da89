import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ApprovalRecord } from "@postern/core";
import type { Approver, ApproverAnswer } from "../../approvals/approver.ts";
import { paintFor } from "../output/terminal.ts";
import { type Sheet, visible } from "../output/text.ts";

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
 * Asks at the terminal: `y` approves; `n`, an empty line, anything else and the end of input deny. A request that is longer
 * than the screen is approved by typing the tool's name.
 *
 * One question at a time: a second request waits until the first is answered. Withdrawing a request (`signal`) ends its
 * question. A question that follows another takes no line in its first second, so that no answer is read for a question
 * that it was not meant for.
 *
 * @param input default: standard input
 * @param output default: standard error
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
      const mine = last.then(async () => {
        const card = await cardOf(request, { paint, terminal: { columns: sizeOf(output, "columns") } });
        cards += 1;
        const from = cards === 1 ? Number.NEGATIVE_INFINITY : now() + quietMs;
        return askOne({ tool: request.tool, card }, signal, { input, output, takes: () => now() >= from });
      });
      last = mine.catch(() => undefined); // its failure belongs to its own caller; the next question still comes
      return mine;
    },
  };
}

/** Loads the card at the first question: the package's entry stays light. */
async function cardOf(request: ApprovalRecord, sheet: Sheet): Promise<readonly string[]> {
  const [{ cardLines }, { shownApproval }] = await Promise.all([
    import("../output/card.ts"),
    import("../../server/wire.ts"),
  ]);
  return cardLines(shownApproval(request), request.requestedAt, sheet);
}

interface ApproverScreen {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether a line that comes now can be meant for this question. */
  readonly takes: () => boolean;
}

const quietMs = 1_000;
const overtaken: ApproverAnswer = { decision: "denied", reason: "the caller does not wait for an answer any more" };

function askOne(
  { tool, card }: { readonly tool: string; readonly card: readonly string[] },
  signal: AbortSignal,
  { input, output, takes }: ApproverScreen,
): Promise<ApproverAnswer> {
  if (signal.aborted) return Promise.resolve(overtaken);
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
      output.write("\n  (answered elsewhere, or the caller does not wait any more)\n");
      end(overtaken);
    };
    signal.addEventListener("abort", withdrawn, { once: true });
    lines.once("close", () => end({ decision: "denied", reason: "the terminal's input ended" }));
    const question = isLong ? `  ${longQuestion(card.length, tool)} ` : "  Run it? [y/N] ";
    lines.on("line", (line) => {
      if (takes()) return end(answerOf(line, isLong ? tool : undefined));
      output.write(`  (too soon to be meant for this one)\n${question}`);
    });
    output.write(question);
  });
}

const linesOfQuestion = 3;

function longQuestion(lines: number, tool: string): string {
  return `These are ${lines} lines, more than your screen shows: scroll up and read all of it. To run it, type \`${visible(tool)}\`:`;
}

/** An output that is no screen has no limit. */
function sizeOf(
  output: Writable & { readonly columns?: unknown; readonly rows?: unknown },
  of: "columns" | "rows",
): number {
  const size = output[of];
  return typeof size === "number" && size > 0 ? size : Number.POSITIVE_INFINITY;
}

function answerOf(line: string, name: string | undefined): ApproverAnswer {
  const typed = line.trim();
  const isYes = name === undefined ? /^y(?:es)?$/i.test(typed) : typed === name;
  if (isYes) return { decision: "approved", by: "operator" };
  return {
    decision: "denied",
    by: "operator",
    reason: typed === "" ? "no answer given" : "denied at the terminal",
  };
}
