import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Answer, Approver } from "../../approvals/approver.ts";
import type { ApprovalRecord } from "../../calls/records.ts";
import { approvalToWire } from "../wire-approvals.ts";
import { cardLines } from "./card.ts";
import type { Paint } from "./terminal.ts";
import { visible } from "./text.ts";

const plain: Paint = (_, text) => text;

/**
 * Asks at the terminal: `y` approves; `n`, an empty line, anything else and the end of input deny (case 84). What is
 * longer than the screen, so that its beginning is out of sight, is approved by typing the tool's name.
 *
 * One question at a time: a second request waits until the first is answered. Withdrawing a request (`signal`) ends its
 * question, so that a late answer never falls to another one.
 */
export function createTerminalApprover(input: Readable, output: Writable, paint: Paint = plain): Approver {
  let last: Promise<unknown> = Promise.resolve();
  return {
    name: "terminal",
    ask(request, signal) {
      const mine = last.then(() => askOne(request, signal, { input, output, paint }));
      last = mine.catch(() => undefined); // its failure is its own asker's; the next question still comes
      return mine;
    },
  };
}

function askOne(
  request: ApprovalRecord,
  signal: AbortSignal,
  { input, output, paint }: { readonly input: Readable; readonly output: Writable; readonly paint: Paint },
): Promise<Answer> {
  if (signal.aborted) return Promise.resolve({ decision: "denied", reason: "nobody waits for an answer any more" });
  const terminal = { columns: sizeOf(output, "columns") };
  const card = cardLines(approvalToWire(request), request.requestedAt, { paint, terminal });
  const isLong = card.length > sizeOf(output, "rows") - linesOfQuestion;
  output.write(`\n${card.join("\n")}\n`);
  const lines = createInterface({ input, output, terminal: false });
  return new Promise((resolve) => {
    const end = (answer: Answer): void => {
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
    lines.once("line", (line) => end(answerOf(line, isLong ? request.tool : undefined)));
    output.write(isLong ? `  ${longer(card.length, request.tool)} ` : "  Run it? [y/N] ");
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

function answerOf(line: string, name: string | undefined): Answer {
  const said = line.trim();
  const isYes = name === undefined ? /^y(?:es)?$/i.test(said) : said === name;
  if (isYes) return { decision: "approved", by: "operator" };
  return {
    decision: "denied",
    by: "operator",
    reason: said === "" ? "no answer given" : "denied at the terminal",
  };
}
