import { type AgentRunId, canonical, counted, type JsonObject, parseStrict } from "@postern/core";
import type { CallView } from "@postern/core/contract";
import type { AuditEvent } from "../audit/log.ts";
import { ClientProblem } from "../server/client/client-problem.ts";
import { runRecord } from "./agent-place.ts";
import type { AgentsPackage } from "./agents-port.ts";
import type { SentArguments } from "./commands/arguments.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { printJson, type Work } from "./output/print.ts";
import { onEndSignal } from "./output/terminal.ts";
import { visible } from "./output/text.ts";
import { sleep } from "./start/server-file.ts";

/** A call that Ctrl-C ends settles within its tool's grace; after this it counts as still running. */
const settlesWithinMs = 3_000;
const lookEveryMs = 100;

/** Aborts at the first signal to end; the second one ends the process at once, as without it. */
export function interruption(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stop = onEndSignal(() => controller.abort());
  return { signal: controller.signal, [Symbol.dispose]: stop };
}

/** The call that was sent. Its trace is its own. */
interface SentCall {
  readonly tool: string;
  readonly given: SentArguments;
  readonly traceId: string;
}

/** Looks until `look` returns an answer, or for as long as a call may take to settle. */
async function whenSettled<Found>(
  { host: { clock } }: Work,
  look: (isLate: boolean) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const until = clock.monotonic() + settlesWithinMs;
  for (;;) {
    const isLate = clock.monotonic() >= until;
    const found = await look(isLate);
    if (found !== undefined || isLate) return found;
    await sleep(clock, lookEveryMs);
  }
}

/** Says what became of a call whose caller pressed Ctrl-C. */
export async function printInterruptedCall(work: Work, sent: SentCall): Promise<ExitCode> {
  const { call_id: id, call } =
    (await whenSettled(work, async (isLate) => {
      const { events } = await work.operator.audit.latest({ trace_id: sent.traceId, limit: 100 });
      const found = await recordedCall(work, events);
      const isRunning = found.call === undefined ? !events.some(isEnd) : found.call.state === "attempted";
      return isRunning && !isLate ? undefined : found;
    })) ?? {};
  const approvalId = call === undefined || call.state === "held" ? await openRequest(work, sent) : undefined;
  const state = approvalId === undefined ? (call?.state ?? (id === undefined ? "not_sent" : "withdrawn")) : "held";
  if (work.json) printJson(work, { interrupted: true, call_id: id, state, approval_id: approvalId });
  else work.terminal.aside(`Interrupted. ${sentence(work.command, { id, state, approvalId })}\n`);
  return exitCodes.interrupted;
}

/** Says what became of an agent's run whose command was ended, and of the calls it made since the command began. */
export async function printInterruptedRun(
  agents: AgentsPackage,
  work: Work,
  run: Pick<AgentRunId, "runId"> & { readonly traceId: string },
): Promise<ExitCode> {
  const { traceId } = run;
  const { command, terminal, operator } = work;
  const own = await whenSettled(work, async (isLate) => {
    const { calls } = await operator.calls.list({ run_id: run.runId, limit: 100 });
    const found = calls.filter(({ trace_id }) => trace_id === traceId);
    return found.some(({ state }) => state === "attempted") && !isLate ? undefined : found;
  });
  const record = await runRecord(agents, work, run.runId);
  const unsettled = (own ?? []).filter(({ state }) => state !== "ok" && state !== "failed" && state !== "denied");
  if (work.json)
    printJson(work, {
      ...{ interrupted: true, run_id: run.runId, steps: record?.steps ?? 0 },
      calls: unsettled.map(({ call_id, tool, state }) => ({ call_id, tool, state })),
    });
  else if (record === undefined) terminal.aside("Interrupted before the run began.\n");
  else {
    const lines = unsettled.map(({ tool, call_id: id, state, approval_id: approvalId }) =>
      state === "held"
        ? `${visible(tool)} was not run: its request ${approvalId} is still open.`
        : `${visible(tool)}: ${sentence(command, { id, state, approvalId })}`,
    );
    terminal.aside(
      [
        `Interrupted after ${counted(record.steps, "turn")} of the model.`,
        ...lines,
        `${howToResume(command, run.runId)}\n`,
      ].join("\n"),
    );
  }
  return exitCodes.interrupted;
}

export function howToResume(command: string, runId: string): string {
  return `The run is kept: \`${command} agent resume ${runId}\` goes on, and runs nothing again that has run.`;
}

function isEnd({ type }: AuditEvent): boolean {
  return type.startsWith("tool_call.") && type !== "tool_call.attempted";
}

async function recordedCall(
  { operator }: Work,
  events: readonly Pick<AuditEvent, "refs">[],
): Promise<{ readonly call_id: string | undefined; readonly call: CallView | undefined }> {
  const refs = events.map((event) => event.refs);
  const id = refs.find((one) => one.tool_call !== undefined)?.tool_call;
  const named = refs.find((one) => one.key !== undefined)?.key ?? id;
  if (named === undefined) return { call_id: undefined, call: undefined };
  try {
    const call = await operator.calls.show({ id: named });
    return { call_id: id ?? call.call_id, call };
  } catch (error) {
    if (error instanceof ClientProblem && error.status === 404) return { call_id: id, call: undefined }; // it left no row
    throw error;
  }
}

/** The request that a person may still answer, also when an earlier call had made it. */
async function openRequest({ operator }: Work, sent: SentCall): Promise<string | undefined> {
  const { approvals } = await operator.approvals.list({ state: "pending", limit: 1000 });
  return approvals.find(({ what }) => what.tool === sent.tool && isSent(what.arguments, sent.given))?.approval_id;
}

/** Whether these are the arguments of a call that was sent so. A text was taken as it is, or as JSON. */
function isSent(asked: JsonObject, { arguments: given = {}, text_arguments: texts = {} }: SentArguments): boolean {
  const others = Object.entries(asked).filter(([name, value]) => {
    const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
    if (text === undefined || text === value) return text === undefined;
    const read = parseStrict(text);
    return "problem" in read || canonical(read.value) !== canonical(value);
  });
  return canonical(Object.fromEntries(others)) === canonical(given);
}

function sentence(
  command: string,
  { id = "The call", state, approvalId }: { id: string | undefined; state: string; approvalId: string | undefined },
): string {
  const show = `\`${command} calls show ${id}\``;
  switch (state) {
    case "held":
      return `${id} was not run. Its request ${approvalId} is still open: send the same call again to go on, or withdraw it with \`${command} approvals withdraw ${approvalId}\`.`;
    case "withdrawn":
      return `${id} was withdrawn before it ran.`;
    case "not_sent":
      return "Postern has no record of the call: it was not run.";
    case "attempted":
      return `${id} is still running; ${show} shows how it ends.`;
    case "unknown":
      return `${id} had started, and its outcome is unknown: it may have happened. Check, then run \`${command} calls settle ${id} succeeded|failed|retry --reason "…"\`.`;
    default:
      return `${id} had ended: ${state}; ${show} shows its outcome.`;
  }
}
