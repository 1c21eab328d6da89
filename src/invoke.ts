/**
 * START HERE. The one path of every call: direct, agent loop, MCP, HTTP, script, sub-agent, or a held call that goes on.
 *
 *   arrives ─ budget ─ lookup ─ arguments ─ verdict ─ once ─ approval ─ claim ─ execute ─ settle ─ leaves
 *                        ▲                                      │         └─ here, or on a worker ─┘
 *                        └────── a person was waited for ───────┘
 *
 * A gate returns an Ending, or the call moved on one stage. It never receives `next`, and only `claim` makes what
 * `execute` takes. Everything that must be true is written, in a transaction, by the step that makes it true;
 * everything that is merely interesting is announced.
 */
import type { ToolCall } from "./calls/call.ts";
import { type Ending, isEnding, outcomeOf, refuse } from "./calls/ending.ts";
import { messageOf, RuntimeFault } from "./calls/fault.ts";
import type { ToolOutcome } from "./calls/outcome.ts";
import type { Caller } from "./calls/session.ts";
import { execute } from "./executors/execute.ts";
import { settle } from "./executors/settle.ts";
import { approve } from "./gates/approval.ts";
import { checkArguments } from "./gates/arguments.ts";
import { spend } from "./gates/budget.ts";
import { claim } from "./gates/claim.ts";
import { weighGuarded } from "./gates/guardrails.ts";
import { lookup } from "./gates/lookup.ts";
import { once } from "./gates/once.ts";
import { ownRun } from "./gates/run.ts";
import {
  type Again,
  type ApprovedCall,
  type ClaimedCall,
  type CountedCall,
  isAgain,
  type ValidCall,
  type WeighedCall,
} from "./gates/stages.ts";
import { weigh } from "./gates/verdict.ts";
import type { Parts } from "./parts.ts";

/**
 * Whatever happens inside, a call leaves once: one terminal event, one trace line, one outcome (SPEC 7 step 16).
 * Throws only what the caller's own signal says, and that only after it was recorded (D15).
 */
export async function invoke(call: ToolCall, caller: Caller, parts: Parts): Promise<ToolOutcome> {
  const arrivedAt = parts.clock.monotonic();
  if (caller.progress !== undefined) parts.listen(call, caller.progress);
  parts.announce({ moment: "arrived", call });
  let end: ToolOutcome | Ending;
  try {
    end = await pass(call, caller, parts);
  } catch (fault) {
    end = broken(call, fault, parts);
  }
  const outcome = isEnding(end) ? await leave(call, end, parts.clock.monotonic() - arrivedAt, parts) : end;
  const durationMs = parts.clock.monotonic() - arrivedAt;
  caller.session.note(call, outcome, durationMs);
  parts.announce({ moment: "left", call, outcome, durationMs });
  if (outcome.refusal?.code === "cancelled")
    throw caller.signal?.reason ?? new RuntimeFault("deadline_passed", outcome.text);
  return outcome;
}

/** The gates, in their order. After a person was waited for, or the past moved, the call enters again: the world may have changed. */
async function pass(call: ToolCall, caller: Caller, parts: Parts): Promise<ToolOutcome | Ending> {
  const counted = spend(call, caller);
  if (isEnding(counted)) return counted;
  const owned = ownRun(counted, parts);
  const foreign = owned instanceof Promise ? await owned : owned;
  if (foreign !== undefined) return foreign;
  const assessed = assess(counted, parts);
  const weighed = assessed instanceof Promise ? await assessed : assessed; // the hot path has as few awaits as it has waits
  if (isEnding(weighed)) return weighed;
  const found = once(weighed, parts);
  const fresh = found instanceof Promise ? await found : found;
  if (isEnding(fresh)) return fresh;
  const answered = approve(fresh, caller, parts);
  const approved = answered instanceof Promise ? await answered : answered;
  if (isEnding(approved)) return approved;
  if (isAgain(approved)) return pass(approved.again, caller, parts);
  const end = await parts.executor.carryOut(approved, caller); // a promise handed on unawaited costs two turns more
  return isAgain(end) ? pass(end.again, caller, parts) : end;
}

/** May it run, and must somebody be asked? Writes nothing: `explain`, `simulate` and edits ask it too. */
export function assess(call: CountedCall, parts: Parts): WeighedCall | Ending | Promise<WeighedCall | Ending> {
  const found = lookup(call, parts);
  if (isEnding(found)) return found;
  const valid = checkArguments(found, parts);
  if (valid instanceof Promise) return valid.then((late) => (isEnding(late) ? late : guardAndWeigh(late, parts)));
  return isEnding(valid) ? valid : guardAndWeigh(valid, parts);
}

function guardAndWeigh(call: ValidCall, parts: Parts): WeighedCall | Ending | Promise<WeighedCall | Ending> {
  const guards = parts.guardrails?.onArguments;
  return guards === undefined || guards.length === 0 ? weigh(call, parts) : weighGuarded(call, guards, parts);
}

/** What the executor does, in this process or on a worker: whoever claims it runs it and settles it. */
export function carryOut(call: ApprovedCall, caller: Caller, parts: Parts): Promise<ToolOutcome | Again | Ending> {
  const made = claim(call, caller, parts);
  return made instanceof Promise ? made.then((late) => run(late, caller, parts)) : run(made, caller, parts);
}

function run(
  claimed: ClaimedCall | Again | Ending,
  caller: Caller,
  parts: Parts,
): Promise<ToolOutcome | Again | Ending> {
  if (isEnding(claimed) || isAgain(claimed)) return Promise.resolve(claimed);
  return settle(claimed, execute(claimed, caller, parts), caller, parts);
}

/** The terminal event of a call whose tool did not run; the others have theirs from `settle`, or from the request that asked. */
async function leave(call: ToolCall, end: Ending, latencyMs: number, parts: Parts): Promise<ToolOutcome> {
  const outcome = outcomeOf(call.id, end);
  if (end.ending === "pending" && end.asked) return outcome;
  const noted = await parts.ledger.note(call, end, outcome, latencyMs);
  return noted ? outcome : outcomeOf(call.id, refuse("audit_unavailable"));
}

/** A bug, or a store that failed before the claim: a typed refusal, never a rejection, a stack or a secret (SPEC 7.1). */
function broken(call: ToolCall, fault: unknown, parts: Parts): Ending {
  const said = parts.redactor.redact(messageOf(fault));
  parts.log(`The call \`${call.id}\` of \`${call.tool}\` failed inside: ${said}`, call);
  return refuse("internal", `Invoker error: ${said}`);
}
