import { actionText, duration } from "@postern/core";
import { type CallView, calls } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { flagsOf, ofRun, ofTool, pastTime, readField, rowLimit } from "../flags.ts";
import { ago, type Columns, riskCell, type Work } from "../output/print.ts";
import { paintRisk } from "../output/terminal.ts";
import { labelled, visible, visibleLines, whose } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

const settleBody = calls.settle.body;

export function commands(group: CommandGroup): void {
  group.list("list", "new to old", {
    isDefault: true,
    flags: flagsOf(calls.list.query, {
      state: { value: "state", help: "only in this state" },
      tool: ofTool,
      run_id: ofRun,
      since: pastTime(group.now),
      before: "page",
      limit: rowLimit(50),
    }),
    rows: "calls",
    ask: ({ operator }, sent) => operator.calls.list(sent),
    columns,
    empty: "No calls.",
  });
  group.answer("show <id>", "one call: arguments, decision and outcome", {
    ask: ({ operator }, sent) => operator.calls.show(sent),
    text: callText,
  });
  group.answer("settle <id> <outcome>", "say what became of a call whose outcome is unknown", {
    words: { "<outcome>": "succeeded, failed or retry" },
    flags: flagsOf(settleBody.partial(), { outcome: "none", reason: { help: "how you know" } }),
    prepare: ({ sent: { id, outcome: word, reason = "" } }) => {
      const outcome = readField(settleBody.shape.outcome, word, "settle");
      if (reason.trim() === "") throw new UsageProblem('Say how you know: `--reason "…"`. It is recorded.');
      return { id, outcome, reason };
    },
    ask: ({ operator }, sent) => operator.calls.settle(sent),
    text: (call, work, { outcome }) => `${callText(call, work)}${afterSettling[outcome]}`,
  });
}

const columns: Columns<CallView> = {
  CALL: ({ call_id }) => call_id,
  STATE: ({ state }) => state,
  RISK: ({ risk_level }, work) => riskCell(risk_level, work),
  ARRIVED: ({ arrived_at }, work) => ago(arrived_at, work),
  TOOK: took,
  TOOL: actionText,
  ARGUMENTS: (call) => JSON.stringify(call.arguments),
};

function took({ durations }: CallView): string {
  return shown(durations.tool_ms);
}

function shown(ms: number | undefined): string {
  return ms === undefined ? "" : duration(ms);
}

function callText(call: CallView, work: Work): string {
  const { paint, command } = work;
  const line = labelled(paint, 10);
  const { outcome, durations } = call;
  const lines = visibleLines(outcome?.text ?? "").map((text) => `    ${text}\n`);
  return [
    `${paint("bold", visible(actionText(call)))}   ${call.state}, risk ${paintRisk(paint, call.risk_level)}\n`,
    line("call", call.call_id),
    line("asked by", whose(call.requested_by)),
    line("run", call.run_id),
    line("arrived", ago(call.arrived_at, work)),
    line("gate", shown(durations.gate_ms)),
    line("waited", shown(durations.waiting_ms)),
    line("took", took(call)),
    line("approval", call.approval_id),
    line("arguments", JSON.stringify(call.arguments)),
    line("refusal", outcome?.refusal?.code),
    ...((outcome?.text ?? "") === "" ? [] : [`  ${paint("dim", "outcome")}\n`, ...lines]),
    call.state === "unknown" ? unknownText(command, call) : "",
  ].join("");
}

function unknownText(command: string, { call_id: id, retryable, idempotency_key: key }: CallView): string {
  if (!retryable) return `Settle it: ${command} calls settle ${id} succeeded|failed|retry --reason "…"\n`;
  const same = key === undefined ? "the same tool and arguments" : "the same idempotency key";
  return `It may be run again, and nothing runs by itself. It runs when its caller sends it again with ${same}; if it needs approval, a person is asked again.\n`;
}

const afterSettling = {
  succeeded: "Nothing runs. If its caller sends the call again, it is told that it succeeded.\n",
  failed: "Nothing runs. The call counts as not done; its caller decides whether to make it again.\n",
  retry: "", // `unknownText` says it
} as const;
