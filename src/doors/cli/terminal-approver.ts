import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Answer, Approver } from "../../approvals/approver.ts";
import type { ApprovalRecord } from "../../calls/records.ts";
import { approvalToWire } from "../wire-approvals.ts";
import { approvalCard } from "./card.ts";
import type { Paint } from "./terminal.ts";

const plain: Paint = (_, text) => text;

/**
 * Asks at the terminal: `y` approves; `n`, an empty line, anything else and the end of input deny (case 84).
 *
 * One question at a time: a second request waits until the first is answered. Withdrawing a request (`signal`) ends its
 * question, so that a late answer never falls to another one.
 */
export function createTerminalApprover(input: Readable, output: Writable, paint: Paint = plain): Approver {
  let last: Promise<unknown> = Promise.resolve();
  return {
    name: "terminal",
    ask(request, signal) {
      const mine = last.then(() => askOne(request, signal, input, output, paint));
      last = mine.catch(() => undefined); // its failure is its own asker's; the next question still comes
      return mine;
    },
  };
}

function askOne(
  request: ApprovalRecord,
  signal: AbortSignal,
  input: Readable,
  output: Writable,
  paint: Paint,
): Promise<Answer> {
  if (signal.aborted) return Promise.resolve({ decision: "denied", reason: "nobody waits for an answer any more" });
  output.write(`\n${approvalCard(approvalToWire(request), request.requestedAt, paint)}`);
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
    lines.once("line", (line) => end(answerOf(line)));
    output.write("  Run it? [y/N] ");
  });
}

function answerOf(line: string): Answer {
  const said = line.trim().toLowerCase();
  if (said === "y" || said === "yes") return { decision: "approved", by: "operator" };
  return {
    decision: "denied",
    by: "operator",
    reason: said === "" ? "no answer given" : "denied at the terminal",
  };
}
