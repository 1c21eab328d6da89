/**
 * The loop of code mode: the engine yields a batch of calls, they go through the gates together, the engine is settled.
 *
 * Invariant: nothing a script does has an effect but by a call here, and every call's key is made of the script's key and
 * the call's number. So a script that is thawed, sent again or moved to another engine finds what it did; where it asks for
 * something else than before it ends, because from there on nobody knows what it would repeat (earlier.ts).
 */
import { messageOf } from "../core/fault.ts";
import type { Json } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { Limits, SessionMark, SessionState } from "../core/session.ts";
import type { AskedCall, SandboxSession, ScriptStep, SettledCall } from "../engines/sandbox.ts";
import { settledOf } from "./answers.ts";
import { mostHostCalls } from "./budget.ts";
import { answerHost } from "./host-calls.ts";
import type { JournalMark, JournalState } from "./journal.ts";
import type { ScriptRun } from "./script-run.ts";
import type { StopReason } from "./watch.ts";
import { isElsewhere, withData } from "./whole-data.ts";

export type FailedWhy =
  | Extract<ScriptStep, { step: "failed" }>["why"]
  | "budget"
  | "diverged"
  | "timeout"
  | "closed"
  | "unrecorded";

/** By place: the approval a call of the frozen batch waits for. */
type WaitingApprovals = ReadonlyMap<number, string>;

/** A script that waits for persons: as it was before the batch that holds their calls. */
export interface Halted {
  readonly session: SessionState;
  readonly journal: JournalState;
  readonly batch: readonly AskedCall[];
  readonly waiting: WaitingApprovals;
  /** The first of them, and the earliest moment one lapses. */
  readonly approvalId: string;
  readonly expiresAt: number;
  /** None: this engine cannot be frozen, and the script is replayed. */
  readonly image: Uint8Array | undefined;
  /** Processor time of the script so far: waiting for a person gives it none anew. */
  readonly usedCpuMs: number;
}

export type End =
  | { readonly end: "done"; readonly value: Json | undefined }
  | { readonly end: "failed"; readonly why: FailedWhy; readonly message: string; readonly line?: number }
  | { readonly end: "halted"; readonly halted: Halted }
  | { readonly end: "cancelled" };

/** Of a script that did not come to its own end. */
export type StoppedScript = Extract<End, { end: "failed" | "cancelled" }>;

/** More calls than this at once are no work but a flood. */
const mostAtOnce = 1000;

/** @param batch of a thawed script: what it waits for, asked once more */
export async function drive(engine: SandboxSession, run: ScriptRun, batch?: readonly AskedCall[]): Promise<End> {
  const end = await driven(engine, run, batch);
  if (end.end === "cancelled") return end;
  await run.parts.ledger.flush(); // what it read is on record before anybody hears of it
  if (run.isUnrecorded) return failed("unrecorded", unrecorded);
  const isCutOff = (end.end === "done" || end.end === "failed") && run.numbering.tellEarlier();
  return isCutOff ? cutOff(end) : end;
}

/** An end or an error of its own that comes before the script's earlier calls is another path through the script. */
function cutOff(end: End): End {
  if (end.end === "done") return failed("diverged", endedBefore);
  if (end.end !== "failed" || end.why !== "script") return end;
  const { line } = end;
  return { ...failed("diverged", `${endedBefore} It failed: ${end.message}`), ...(line !== undefined && { line }) };
}

const endedBefore =
  "The script was run again and did not repeat itself: it ended before it came to all of what it did before. Nothing was repeated; make the script independent of time, chance and changing data.";

const unrecorded =
  "Something the script read could not be recorded, so it was stopped. Nothing it changed is missing from the record.";

async function driven(engine: SandboxSession, run: ScriptRun, batch?: readonly AskedCall[]): Promise<End> {
  let waiting = batch;
  for (;;) {
    const step: ScriptStep | undefined =
      waiting === undefined ? await run.watch.next(engine) : { step: "calls", calls: waiting };
    if (step === undefined) return stopped(run);
    run.journal.print(step.printed);
    if (step.step === "done") return { end: "done", value: step.value };
    if (step.step === "failed") {
      const { why, message, line } = step;
      return { end: "failed", why, message, ...(line !== undefined && { line }) };
    }
    const fault = waiting === undefined ? faultOf(step.calls, run) : undefined;
    if (fault !== undefined) return fault;
    waiting = undefined;
    run.pace.begin(step.calls.length);
    if (run.watch.stopped !== undefined) return stopped(run);
    if (run.isUnrecorded) return failed("unrecorded", unrecorded);
    const before = { session: run.session.mark(), journal: run.journal.mark() };
    const other = await run.beginBatch(step.calls);
    if (run.watch.stopped !== undefined) return stopped(run);
    if (other !== undefined) return diverged(other, run);
    const answers = await together(step.calls, run);
    if (run.watch.stopped !== undefined) return stopped(run);
    const conflict = answers.find(({ outcome }) => outcome?.refusal?.code === "idempotency_conflict");
    if (conflict !== undefined) return diverged(conflict.asked, run);
    const held = answers.filter(({ outcome }) => outcome?.status === "pending");
    if (held.length > 0) return await halt(engine, run, { ...before, batch: step.calls, held });
    const called = answers.filter(({ outcome }) => outcome !== undefined);
    const overdrawn = called.filter(({ settled }) => settled.code === "budget_exhausted");
    if (run.budget.isIgnored(called.length, overdrawn.length)) return overdrew(run);
    for (const { asked, outcome } of answers) if (outcome !== undefined) run.numbering.tell(asked, outcome);
    if (run.watch.stopped !== undefined) return stopped(run);
    const taken = engine.settle(answers.map(({ settled }) => settled));
    if (taken !== undefined) await taken;
  }
}

interface HostAnswer {
  readonly asked: AskedCall;
  readonly settled: SettledCall;
  /** None: the host answered, no tool was called. */
  readonly outcome: ToolOutcome | undefined;
}

/** As many at once as a script may have open, begun in the order it made them. One that was stopped begins none any more. */
async function together(calls: readonly AskedCall[], run: ScriptRun): Promise<readonly HostAnswer[]> {
  const answers: HostAnswer[] = [];
  const left = calls.entries();
  const lane = async (): Promise<void> => {
    for (const [at, asked] of left) {
      const others = run.pace.next();
      if (others !== undefined) await others;
      if (run.watch.stopped !== undefined) return;
      answers[at] = await answer(asked, run);
    }
  };
  const lanes = Math.min(run.facts.house.terms.callsAtOnce, calls.length);
  await (lanes === 1 ? lane() : Promise.all(Array.from({ length: lanes }, lane)));
  return answers;
}

async function answer(asked: AskedCall, run: ScriptRun): Promise<HostAnswer> {
  run.journal.use(asked.arguments);
  if (asked.kind !== undefined && asked.kind !== "call")
    return { asked, settled: await answerHost(asked, run), outcome: undefined };
  const outcome = await run.call(asked);
  const settled = settledOf(asked.place, outcome, run.facts.offer.sketches);
  if (outcome.status !== "ok" || !isElsewhere(outcome)) return { asked, settled, outcome };
  return { asked, settled: await withData(settled, outcome, run), outcome };
}

/** Every frame of an engine is untrusted: places only grow, or one call could be answered with another one's result. */
function faultOf(calls: readonly AskedCall[], run: ScriptRun): End | undefined {
  if (calls.length === 0) return failed("deadlock", "The script waits for something that no call will bring.");
  if (calls.length > mostAtOnce)
    return failed("budget", `The script made ${calls.length} calls at once; ${mostAtOnce} is the most.`);
  for (const { place } of calls) {
    if (!Number.isSafeInteger(place) || place <= run.journal.last)
      return failed("protocol", `The engine numbered a call ${String(place)} after ${run.journal.last}.`);
    run.journal.last = place;
  }
  return undefined;
}

interface Halting {
  /** Where both stood before the batch. */
  readonly session: SessionMark;
  readonly journal: JournalMark;
  readonly batch: readonly AskedCall[];
  readonly held: readonly HostAnswer[];
}

async function halt(engine: SandboxSession, run: ScriptRun, { batch, held, ...before }: Halting): Promise<End> {
  const waiting = new Map<number, string>();
  let expiresAt = Number.POSITIVE_INFINITY;
  for (const { asked, outcome } of held) {
    if (outcome?.approvalId !== undefined) waiting.set(asked.place, outcome.approvalId);
    expiresAt = Math.min(expiresAt, outcome?.expiresAt ?? expiresAt);
  }
  const [approvalId] = waiting.values();
  if (approvalId === undefined) return failed("protocol", "A call waits for a person without a request.");
  const usedCpuMs = run.usedCpuMs + (engine.usedCpuMs ?? 0);
  // What an engine cannot freeze is replayed, and so is what would take long to put away.
  const freezes = run.freezes && !run.asksMuch;
  const image = freezes ? await engine.freeze().catch((error: unknown) => unfrozen(error, run)) : undefined;
  const lapses = Number.isFinite(expiresAt) ? expiresAt : run.parts.clock.now();
  const session = run.session.freeze(before.session);
  const journal = run.journal.freeze(before.journal);
  return {
    end: "halted",
    halted: { session, journal, batch, waiting, approvalId, expiresAt: lapses, image, usedCpuMs },
  };
}

function unfrozen(error: unknown, { parts, facts }: ScriptRun): undefined {
  parts.log(`The script \`${facts.parent.id}\` could not be frozen (${messageOf(error)}); it will be replayed.`);
}

/** The calls that wait, as their caller reads it. */
export function waitsFor({ batch, waiting }: Halted): string {
  const waits = batch.filter(({ place }) => waiting.has(place));
  const told = waits.slice(0, mostWaitsTold).map(({ tool, line }) => `\`${tool}\`${line ? ` (line ${line})` : ""}`);
  const more = waits.length - told.length;
  return `${told.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const mostWaitsTold = 3;

function stopped({ session, watch }: ScriptRun): End {
  return stoppedEnd(watch.stopped ?? "timeout", session.limits);
}

/** How a script ends that did not come to its own. */
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

/** Calls of tools alone are counted, from 1: it is by their numbers that they are told apart. */
function diverged(asked: AskedCall, { numbering }: ScriptRun): End {
  const { tool, line } = asked;
  const where = line === undefined ? "" : ` (line ${line})`;
  const message = `The script was run again and did not repeat itself: its call ${numbering.of(asked).number + 1}${where}, \`${tool}\`, is not the one it made before. Nothing was repeated; make the script independent of time, chance and changing data.`;
  return { ...failed("diverged", message), ...(line !== undefined && { line }) };
}

function overdrew(run: ScriptRun): End {
  return failed(
    "budget",
    `The script went on calling after its budget of ${run.session.limits.maxToolCalls} calls (and ${mostHostCalls} questions of Postern) was used up; it was stopped.`,
  );
}

function failed(why: FailedWhy, message: string): Extract<End, { end: "failed" }> {
  return { end: "failed", why, message };
}
