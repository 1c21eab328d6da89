/**
 * The loop of code mode: the engine yields a batch of calls, they go through the gates together, and the engine gets their
 * results.
 *
 * Invariant: a script has an effect only by a call here. The key of every call is made of the script's key and the call's
 * number, so a script that is thawed, sent again or moved to another engine finds what it did (replay.ts).
 */
import { messageOf } from "../core/fault.ts";
import type { Json } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { Limits, SessionMark, SessionState } from "../core/session.ts";
import type { AskedCall, SandboxSession, ScriptStep, SettledCall } from "../engines/sandbox.ts";
import { settledOf } from "./answers.ts";
import { answerHost } from "./host-calls.ts";
import { type JournalMark, type JournalState, mostHostCalls } from "./journal.ts";
import type { StopReason } from "./live-scripts.ts";
import type { ScriptRun } from "./script-run.ts";

export type FailedWhy =
  | Extract<ScriptStep, { step: "failed" }>["why"]
  | "budget"
  | "diverged"
  | "timeout"
  | "closed"
  | "unrecorded";

/** A script that waits for people, in its state before the batch with their calls. */
export interface HaltedScript {
  readonly session: SessionState;
  readonly journal: JournalState;
  readonly batch: readonly AskedCall[];
  /** By place: the approval that a call of the batch waits for. */
  readonly waiting: ReadonlyMap<number, string>;
  /** The first of them, and the earliest time at which one expires. */
  readonly approvalId: string;
  readonly expiresAt: number;
  /** Undefined when this engine cannot be frozen; then the script is replayed. */
  readonly image: Uint8Array | undefined;
  /** Processor time that the script has used. It does not get this time again after the wait. */
  readonly usedCpuMs: number;
}

export type End =
  | { readonly end: "done"; readonly value: Json | undefined }
  | { readonly end: "failed"; readonly why: FailedWhy; readonly message: string; readonly line?: number }
  | { readonly end: "halted"; readonly halted: HaltedScript }
  | { readonly end: "cancelled" };

type FailedScript = Extract<End, { end: "failed" }>;

/** The end of a script that was stopped from outside. */
export type StoppedScript = FailedScript | Extract<End, { end: "cancelled" }>;

const mostCallsAtOnce = 1000;

/** @param batch the calls that a thawed script waits for */
export async function drive(engine: SandboxSession, run: ScriptRun, batch?: readonly AskedCall[]): Promise<End> {
  const end = await loop(engine, run, batch);
  if (end.end === "cancelled") return end;
  await run.parts.ledger.flush(); // what the script read is recorded before the caller gets its end
  if (run.isUnrecorded) return failed("unrecorded", unrecorded);
  const isCutOff = (end.end === "done" || end.end === "failed") && run.turn.replay.noteMissed();
  return isCutOff ? cutOff(end) : end;
}

/** A script that ends before its earlier calls took another path. */
function cutOff(end: End): End {
  if (end.end === "done") return failed("diverged", endedBefore);
  if (end.end !== "failed" || end.why !== "script") return end;
  return failed("diverged", `${endedBefore} It failed: ${end.message}`, end.line);
}

const advice = "Nothing was repeated; make the script independent of time, chance and changing data.";
const endedBefore = `The script was run again and did not repeat itself: it ended before it made all of its earlier calls. ${advice}`;
const unrecorded =
  "Something the script read could not be recorded, so it was stopped. Nothing it changed is missing from the record.";

async function loop(engine: SandboxSession, run: ScriptRun, batch?: readonly AskedCall[]): Promise<End> {
  const { watch, journal, session } = run;
  const { replay } = run.turn;
  const stopped = (): End | undefined => watch.stopped && stoppedEnd(watch.stopped, session.limits);
  for (let thawed = batch; ; thawed = undefined) {
    const step: ScriptStep | undefined =
      thawed === undefined ? await watch.next(engine) : { step: "calls", calls: thawed };
    if (step === undefined) return stopped() ?? failed("closed", "The script was stopped.");
    journal.print(step.printed);
    if (step.step === "done") return { end: "done", value: step.value };
    if (step.step === "failed") return failed(step.why, step.message, step.line);
    const { calls } = step;
    const fault = thawed === undefined ? faultOf(calls, run) : undefined;
    if (fault !== undefined) return fault;
    if (run.isUnrecorded) return failed("unrecorded", unrecorded);
    const before = { session: session.mark(), journal: journal.mark() };
    const other = await run.beginBatch(calls);
    const answers = watch.stopped === undefined && other === undefined ? await runTogether(calls, run) : [];
    const end = stopped();
    if (end !== undefined) return end;
    const conflict = other ?? answers.find(({ outcome }) => outcome?.refusal?.code === "idempotency_conflict")?.asked;
    if (conflict !== undefined) return diverged(conflict, run);
    const held = answers.filter(({ outcome }) => outcome?.status === "pending");
    if (held.length > 0) return await halt(engine, run, { ...before, batch: calls, held });
    const called = answers.filter(({ outcome }) => outcome !== undefined);
    const overdrawn = called.filter(({ settled }) => settled.code === "budget_exhausted");
    if (journal.budget.isIgnored(called.length, overdrawn.length)) return failed("budget", overdrew(run));
    for (const { asked, outcome } of called) if (outcome !== undefined) replay.record(asked, outcome);
    await engine.settle(answers.map(({ settled }) => settled));
  }
}

interface HostAnswer {
  readonly asked: AskedCall;
  readonly settled: SettledCall;
  /** Undefined when Postern answered and no tool was called. */
  readonly outcome: ToolOutcome | undefined;
}

/** Runs as many calls at once as a script may have open, in the order it made them. A stopped script begins no more. */
async function runTogether(calls: readonly AskedCall[], run: ScriptRun): Promise<readonly HostAnswer[]> {
  const answers: HostAnswer[] = [];
  const left = calls.entries();
  const lane = async (): Promise<void> => {
    for (const [at, asked] of left) {
      await run.pace.next();
      if (run.watch.stopped !== undefined) return;
      answers[at] = await answer(asked, run);
    }
  };
  const lanes = Math.min(run.facts.host.terms.callsAtOnce, calls.length);
  await Promise.all(Array.from({ length: lanes }, lane));
  return answers;
}

async function answer(asked: AskedCall, run: ScriptRun): Promise<HostAnswer> {
  run.journal.use(asked.arguments);
  if (asked.kind !== undefined && asked.kind !== "call")
    return { asked, settled: await answerHost(asked, run), outcome: undefined };
  const outcome = await run.call(asked);
  return { asked, settled: await settledOf(asked.place, outcome, run), outcome };
}

/** Every frame of an engine is untrusted: if places did not grow, one call could get the result of another. */
function faultOf(calls: readonly AskedCall[], { journal }: ScriptRun): End | undefined {
  if (calls.length === 0) return failed("deadlock", "The script waits for something that no call will bring.");
  if (calls.length > mostCallsAtOnce)
    return failed("budget", `The script made ${calls.length} calls at once; ${mostCallsAtOnce} is the most.`);
  for (const { place } of calls) {
    if (!Number.isSafeInteger(place) || place <= journal.last)
      return failed("protocol", `The engine numbered a call ${String(place)} after ${journal.last}.`);
    journal.last = place;
  }
  return undefined;
}

interface HaltContext {
  /** The state of both before the batch. */
  readonly session: SessionMark;
  readonly journal: JournalMark;
  readonly batch: readonly AskedCall[];
  readonly held: readonly HostAnswer[];
}

async function halt(engine: SandboxSession, run: ScriptRun, { batch, held, ...before }: HaltContext): Promise<End> {
  const { freezes, usedCpuMs } = run.turn;
  const waiting = new Map<number, string>();
  let expiresAt = Number.POSITIVE_INFINITY;
  for (const { asked, outcome } of held) {
    if (outcome?.approvalId !== undefined) waiting.set(asked.place, outcome.approvalId);
    expiresAt = Math.min(expiresAt, outcome?.expiresAt ?? expiresAt);
  }
  const [approvalId] = waiting.values();
  if (approvalId === undefined) return failed("protocol", "A call waits for a person without a request.");
  const used = usedCpuMs + (engine.usedCpuMs ?? 0);
  // A script whose engine cannot be frozen, or that asks for much, is replayed.
  const image =
    freezes && !run.asksMuch ? await engine.freeze().catch((error: unknown) => unfrozen(error, run)) : undefined;
  return {
    end: "halted",
    halted: {
      ...{ batch, waiting, approvalId, image, usedCpuMs: used },
      expiresAt: Number.isFinite(expiresAt) ? expiresAt : run.parts.clock.now(),
      session: run.session.freeze(before.session),
      journal: run.journal.freeze(before.journal),
    },
  };
}

function unfrozen(error: unknown, { parts, facts }: ScriptRun): undefined {
  parts.log(`The script \`${facts.parent.id}\` could not be frozen (${messageOf(error)}); it will be replayed.`);
}

const mostWaitsShown = 3;

/** The calls that wait, as text for the caller. */
export function waitsFor({ batch, waiting }: HaltedScript): string {
  const waits = batch.filter(({ place }) => waiting.has(place));
  const shown = waits.slice(0, mostWaitsShown).map(({ tool, line }) => `\`${tool}\`${line ? ` (line ${line})` : ""}`);
  const more = waits.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export function stoppedEnd(reason: StopReason, { totalTimeoutMs }: Pick<Limits, "totalTimeoutMs">): StoppedScript {
  switch (reason) {
    case "timeout":
      return failed("timeout", `The script's time of ${totalTimeoutMs} ms is over; it was stopped.`);
    case "closed":
      return failed("closed", "Postern was stopped while the script ran.");
    case "cancelled":
      return { end: "cancelled" };
  }
}

/** The message counts the calls of tools from 1. */
function diverged(asked: AskedCall, { turn }: ScriptRun): End {
  const { tool, line } = asked;
  const where = line === undefined ? "" : ` (line ${line})`;
  const call = `its call ${turn.replay.numberOf(asked) + 1}${where}, \`${tool}\`, is not the one it made before`;
  return failed("diverged", `The script was run again and did not repeat itself: ${call}. ${advice}`, line);
}

function overdrew({ session }: ScriptRun): string {
  return `The script went on calling after its budget of ${session.limits.maxToolCalls} calls (and ${mostHostCalls} questions of Postern) was used up; it was stopped.`;
}

function failed(why: FailedWhy, message: string, line?: number): FailedScript {
  return { end: "failed", why, message, ...(line !== undefined && { line }) };
}
