import { callStates } from "../../core/states.ts";
import type { CallView } from "../../server/contract/calls.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { tellOfMore, upTo } from "../pages.ts";
import { actionText } from "../said.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { paintRisk } from "../terminal.ts";
import { duration, labelled, relative, table, visible, visibleLines, whose } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface CallsFlags extends GlobalFlags {
  readonly state?: string;
  readonly tool?: string;
  readonly run?: string;
  readonly limit?: string;
}

export async function listCalls(host: Host, flags: CallsFlags): Promise<ExitCode> {
  const { state, tool, run } = flags;
  const limit = wholeNumber(flags.limit ?? "50", "--limit");
  const where = { state: state === undefined ? undefined : oneOf(state, callStates, "--state"), tool, run_id: run };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { rows: calls, next } = await upTo(limit, async (most, from?: string) => {
      const page = await work.operator.calls.list({ ...where, limit: most, before: from });
      return { rows: page.calls, next: page.next_before };
    });
    if (work.json) printJson(work, { calls, next_before: next });
    else work.terminal.out(calls.length === 0 ? "No calls.\n" : callTable(work, calls));
    tellOfMore(work, next !== undefined);
    return exitCodes.ok;
  });
}

function callTable({ paint, terminal, now }: Work, calls: readonly CallView[]): string {
  const rows = calls.map((call) => [
    call.call_id,
    call.state,
    {
      text: call.risk_level,
      paint: (text: string) => text.replace(call.risk_level, paintRisk(paint, call.risk_level)),
    },
    relative(Date.parse(call.arrived_at), now()),
    took(call),
    actionText(call),
    JSON.stringify(call.arguments),
  ]);
  return table(["CALL", "STATE", "RISK", "ARRIVED", "TOOK", "TOOL", "ARGUMENTS"], rows, { terminal, paint });
}

function took({ started_at, ended_at }: CallView): string {
  return started_at === undefined || ended_at === undefined
    ? ""
    : duration(Date.parse(ended_at) - Date.parse(started_at));
}

export async function showCall(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const call = await work.operator.calls.show({ id });
    if (work.json) printJson(work, call);
    else work.terminal.out(callText(work, call));
    return exitCodes.ok;
  });
}

function callText({ command, paint, now }: Work, call: CallView): string {
  const line = labelled(paint, 10);
  const { outcome, requested_by: by } = call;
  return [
    `${paint("bold", visible(actionText(call)))}   ${call.state}, risk ${paintRisk(paint, call.risk_level)}\n`,
    line("call", call.call_id),
    line("asked by", whose(by)),
    line("run", call.run_id),
    line("arrived", relative(Date.parse(call.arrived_at), now())),
    line("took", took(call)),
    line("approval", call.approval_id),
    line("arguments", JSON.stringify(call.arguments)),
    line("refusal", outcome?.refusal?.code),
    outcome === undefined || outcome.text === "" ? "" : `  ${paint("dim", "outcome")}\n`,
    ...(outcome === undefined || outcome.text === "" ? [] : visibleLines(outcome.text).map((text) => `    ${text}\n`)),
    call.state === "unknown" ? unknownText(command, call) : "",
  ].join("");
}

function unknownText(command: string, { call_id: id, retryable, idempotency_key: key }: CallView): string {
  if (!retryable) return `Settle it: ${command} calls settle ${id} succeeded|failed|retry --reason "…"\n`;
  const same = key === undefined ? "the same tool and arguments" : "the same idempotency key";
  return `It may be run again, and nothing runs by itself. It runs when its caller sends it again with ${same}; where it needs approval, a person is asked again.\n`;
}

const afterSettling = {
  succeeded: "Nothing runs. If its caller sends the call again, it is told that it succeeded.\n",
  failed: "Nothing runs. The call counts as not done; whether to make it anew is for its caller.\n",
  retry: "", // `unknownText` says it
} as const;

export interface SettleFlags extends GlobalFlags {
  readonly reason?: string;
}

const settlements = ["succeeded", "failed", "retry"] as const;

/** An operator's word on a call whose outcome is unknown (D20): never a guess of ours, so it needs a reason. */
export async function settleCall(
  host: Host,
  { id, word }: { readonly id: string; readonly word: string },
  flags: SettleFlags,
): Promise<ExitCode> {
  const outcome = oneOf(word, settlements, "settle");
  const { reason } = flags;
  if (reason === undefined || reason.trim() === "")
    throw new UsageProblem('Say how you know: `--reason "…"`. It is recorded.');
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const call = await work.operator.calls.settle({ id, outcome, reason });
    if (work.json) printJson(work, call);
    else work.terminal.out(`${callText(work, call)}${afterSettling[outcome]}`);
    return exitCodes.ok;
  });
}
