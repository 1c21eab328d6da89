/**
 * The loop of code mode: the engine yields a batch of calls, they go through the gates together, and the engine gets their
 * results.
 *
 * Invariant: a script has an effect only by a call here. The key of every call is made of the script's key and the call's
 * number, so a script that is thawed, sent again or moved to another engine finds what it did (replay.ts).
 */

import { messageOf } from "@postern/core";
import type { AskedCall, SandboxSession, ScriptStep } from "@postern/core/sandbox";
import type { Limits, SessionMark } from "../call/session.ts";
import type { HaltedScript } from "./frozen.ts";
import { type JournalMark, mostHostCalls } from "./journal.ts";
import type { StopReason } from "./live-scripts.ts";
import { type CallAnswer, OpenCalls } from "./open-calls.ts";
import type { End, FailedScript, FailedWhy, StoppedScript } from "./result.ts";
import type { ScriptRun } from "./script-run.ts";
import { type TimedStep, TimerCount } from "./script-timers.ts";

const mostCallsAtOnce = 1000;

/** @param thawed the calls and the timer that a thawed script waits for */
export async function drive(engine: SandboxSession, run: ScriptRun, thawed?: ThawedStep): Promise<End> {
  const end = await new ScriptLoop(engine, run).through(thawed);
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
const otherTimer = `The script was run again and did not repeat itself: its timers did not run between the same calls. ${advice}`;
const tooManyTimers =
  "The script's timers ran too often while it waited for calls; it was stopped. Give its intervals more time.";
const unrecorded =
  "Something the script read could not be recorded, so it was stopped. Nothing it changed is missing from the record.";

/** The waiting step of a frozen script. */
type ThawedStep = Pick<HaltedScript, "batch" | "timerMs">;
type CallsStep = Extract<ScriptStep, { step: "calls" }>;

/** What the engine gets next. */
interface NextInput {
  readonly answers: readonly CallAnswer[];
  /** How long the script's timers ran. */
  readonly passedMs: number;
}

class ScriptLoop {
  readonly #engine: SandboxSession;
  readonly #run: ScriptRun;
  readonly #open: OpenCalls;

  constructor(engine: SandboxSession, run: ScriptRun) {
    this.#engine = engine;
    this.#run = run;
    this.#open = new OpenCalls(run);
  }

  /** The end waits for the calls that are under way, so that the trace has them. */
  async through(thawed: ThawedStep | undefined): Promise<End> {
    const end = await this.#steps(thawed);
    await this.#open.ended(this.#open.asked);
    return this.#stopped() ?? end;
  }

  async #steps(first: ThawedStep | undefined): Promise<End> {
    const { watch, journal, turn } = this.#run;
    let passedMs = 0;
    for (let thawed = first; ; thawed = undefined) {
      const step: ScriptStep | undefined =
        thawed === undefined
          ? await watch.next(this.#engine, passedMs)
          : { ...thawed, step: "calls", calls: thawed.batch };
      if (step === undefined) return this.#stopped() ?? failed("closed", "The script was stopped.");
      journal.print(step.printed);
      if (step.step === "done") return { end: "done", value: step.value };
      if (step.step === "failed") return failed(step.why, step.message, step.line);
      const fault = thawed === undefined ? this.#faultOf(step.calls) : undefined;
      const next = fault ?? (await this.#next(step));
      if ("end" in next) return next;
      const called = next.answers.filter(({ outcome }) => outcome !== undefined);
      const overdrawn = called.filter(({ settled }) => settled.code === "budget_exhausted");
      if (journal.budget.isIgnored(called.length, overdrawn.length)) return failed("budget", overdrew(this.#run));
      for (const { asked, outcome } of called) if (outcome !== undefined) turn.replay.record(asked, outcome);
      await this.#engine.settle(next.answers.map(({ settled }) => settled));
      this.#open.close(next.answers);
      passedMs = next.passedMs;
    }
  }

  /** Makes the calls of a step, and waits until the script goes on or ends. */
  async #next(step: CallsStep): Promise<End | NextInput> {
    const run = this.#run;
    const { session, journal, facts } = run;
    const { calls, timerMs } = step;
    const isTimed = timerMs !== undefined || !this.#open.isEmpty;
    const before = { session: session.mark(), journal: journal.mark() };
    if (run.isUnrecorded || (calls.length > 0 && !(await this.#keepTimers()))) return failed("unrecorded", unrecorded);
    const other = await run.beginBatch(calls);
    const stopped = this.#stopped();
    if (stopped !== undefined) return stopped;
    if (other !== undefined) return diverged(other, run);
    const recorded = isTimed ? facts.timers.at(journal.timedSteps) : undefined;
    if (recorded !== undefined && recorded.made !== journal.callsMade) return failed("diverged", otherTimer);
    using count = new TimerCount(run.parts.clock, run.waits, timerMs);
    this.#open.begin(calls);
    const answers = recorded === undefined ? await this.#live(calls, count) : await this.#again(recorded);
    const conflict = answers.find(({ outcome }) => outcome?.refusal?.code === "idempotency_conflict")?.asked;
    const end = this.#stopped() ?? (conflict && diverged(conflict, run));
    if (end !== undefined) return end;
    if (this.#open.held.length > 0) return await this.#halt(step, before);
    if (!isTimed) return { answers, passedMs: 0 };
    const { passedMs } = recorded ?? count;
    const place = journal.timedSteps++;
    if (recorded !== undefined || facts.timers.add(place, this.#timedStep(answers, passedMs)))
      return { answers, passedMs };
    return failed("budget", tooManyTimers);
  }

  /**
   * Waits for the calls of the step, or for all open ones if it has none, but not longer than until the next timer is due.
   * A call that waits for a person is waited for: the script is frozen with all of its calls.
   */
  async #live(calls: readonly AskedCall[], count: TimerCount): Promise<readonly CallAnswer[]> {
    const open = this.#open;
    await Promise.race([open.ended(calls.length > 0 ? calls : open.asked), count.due]);
    await open.ended(open.asked.filter(({ kind = "call" }) => kind !== "call")); // Postern's own answers take no time
    if (open.held.length > 0) await open.ended(open.asked);
    return open.answers;
  }

  /** Gives the script the results that it had at this step before. */
  async #again(recorded: TimedStep): Promise<readonly CallAnswer[]> {
    const { replay } = this.#run.turn;
    const isAnswered = (asked: AskedCall): boolean =>
      (asked.kind ?? "call") !== "call" || !recorded.open.includes(replay.numberOf(asked));
    await this.#open.ended(this.#open.asked.filter(isAnswered));
    if (this.#open.held.length > 0) await this.#open.ended(this.#open.asked);
    return this.#open.answers.filter(({ asked }) => isAnswered(asked));
  }

  #timedStep(answers: readonly CallAnswer[], passedMs: number): TimedStep {
    const { replay } = this.#run.turn;
    const answered = new Set(answers.map(({ asked }) => asked));
    const open = this.#open.asked.filter((asked) => !answered.has(asked)).map((asked) => replay.numberOf(asked));
    return { made: this.#run.journal.callsMade, passedMs, open };
  }

  /** Returns false when the order of timers and results could not be stored. */
  async #keepTimers(): Promise<boolean> {
    const { facts, parts } = this.#run;
    try {
      await facts.timers.keep();
      return true;
    } catch (error) {
      parts.log(`The timers of the script \`${facts.parent.id}\` could not be recorded: ${messageOf(error)}.`);
      return false;
    }
  }

  #stopped(): StoppedScript | undefined {
    const { watch, session } = this.#run;
    return watch.stopped && stoppedEnd(watch.stopped, session.limits);
  }

  /** Every frame of an engine is untrusted: if places did not grow, one call could get the result of another. */
  #faultOf(calls: readonly AskedCall[]): FailedScript | undefined {
    const { journal } = this.#run;
    if (calls.length === 0 && this.#open.isEmpty)
      return failed("deadlock", "The script waits for something that no call will bring.");
    if (calls.length > mostCallsAtOnce)
      return failed("budget", `The script made ${calls.length} calls at once; ${mostCallsAtOnce} is the most.`);
    for (const { place } of calls) {
      if (!Number.isSafeInteger(place) || place <= journal.last)
        return failed("protocol", `The engine numbered a call ${String(place)} after ${journal.last}.`);
      journal.last = place;
    }
    return undefined;
  }

  async #halt({ calls, timerMs }: CallsStep, before: StateBefore): Promise<End> {
    const run = this.#run;
    const { freezes, usedCpuMs } = run.turn;
    const waiting = new Map<number, string>();
    let expiresAt = Number.POSITIVE_INFINITY;
    for (const { asked, outcome } of this.#open.held) {
      if (outcome?.approvalId !== undefined) waiting.set(asked.place, outcome.approvalId);
      expiresAt = Math.min(expiresAt, outcome?.expiresAt ?? expiresAt);
    }
    const [approvalId] = waiting.values();
    if (approvalId === undefined) return failed("protocol", "A call waits for a person without a request.");
    if (!(await this.#keepTimers())) return failed("unrecorded", unrecorded);
    const used = usedCpuMs + (this.#engine.usedCpuMs ?? 0);
    // A script whose engine cannot be frozen, that asks for much, or that has a call of an earlier step is replayed.
    const isFrozen = freezes && !run.asksMuch && this.#open.asked.length === calls.length;
    const image = isFrozen ? await this.#engine.freeze().catch((error: unknown) => unfrozen(error, run)) : undefined;
    return {
      end: "halted",
      halted: {
        ...{ batch: this.#open.asked, waiting, approvalId, image, usedCpuMs: used },
        ...(timerMs !== undefined && { timerMs }),
        expiresAt: Number.isFinite(expiresAt) ? expiresAt : run.parts.clock.now(),
        session: run.session.freeze(before.session),
        journal: run.journal.freeze(before.journal),
      },
    };
  }
}

/** The state of both before the batch. */
interface StateBefore {
  readonly session: SessionMark;
  readonly journal: JournalMark;
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
