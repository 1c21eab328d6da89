/**
 * START HERE. The one path of every call: direct, agent loop, MCP, HTTP, script, sub-agent, or a held call that continues.
 *
 *   arrives ─ budget ─ lookup ─ arguments ─ verdict ─ once ─ approval ─ claim ─ execute ─ settle ─ leaves
 *                        ▲                                      │         └─ here, or on a worker ─┘
 *                        └────── after waiting for a person ────┘
 *
 * A gate returns an Ending, or the call at its next stage. It never receives `next`, and only `claim` makes what
 * `execute` takes. A step writes what must be true in a transaction; it announces what is only of interest.
 */

import { messageOf, RuntimeFault, type ToolCall, type ToolOutcome } from "@postern/core";
import { type Ending, isEnding, outcomeOf, refuse } from "../call/ending.ts";
import type { Caller } from "../call/session.ts";
import type { Parts } from "./dependencies.ts";
import { execute } from "./execute.ts";
import { approve } from "./gates/approval.ts";
import { checkArguments } from "./gates/arguments.ts";
import { spend } from "./gates/budget.ts";
import { claim } from "./gates/claim.ts";
import { guardArguments } from "./gates/guardrails.ts";
import { awaitServer, lookup, startServer } from "./gates/lookup.ts";
import { storeFailure } from "./gates/not-run.ts";
import { once } from "./gates/once.ts";
import { ownRun } from "./gates/run.ts";
import { type Again, type ApprovedCall, type CountedCall, isAgain, type WeighedCall } from "./gates/stages.ts";
import { readTexts } from "./gates/text-arguments.ts";
import { weigh } from "./gates/verdict.ts";
import { settle } from "./settle.ts";

/**
 * A call leaves once, whatever happens inside: one terminal event, one trace line, one outcome. Repeated refusals of the
 * budget gate share an event and a trace line (repeated-refusals.ts).
 *
 * @throws the reason of the caller's own signal, after the cancellation was recorded
 */
export async function invoke(arrived: ToolCall, caller: Caller, parts: Parts): Promise<ToolOutcome> {
  const arrivedAt = parts.clock.monotonic();
  if (caller.progress !== undefined) parts.listen(arrived, caller.progress);
  parts.announce({ moment: "arrived", call: arrived });
  let call = arrived;
  let end: ToolOutcome | Ending;
  try {
    if (arrived.texts !== undefined) call = await readTexts(arrived, parts, caller);
    end = await passGates(call, caller, parts);
  } catch (fault) {
    end = broken(call, fault, parts);
  }
  const isRepeated = isEnding(end) && parts.repeated.count(call, end, caller.session);
  const latencyMs = parts.clock.monotonic() - arrivedAt;
  const outcome = isEnding(end) ? await leave(call, end, { isRepeated, latencyMs }, parts) : end;
  const durationMs = parts.clock.monotonic() - arrivedAt;
  if (!isRepeated) caller.session.note(call, outcome, durationMs);
  parts.announce({ moment: "left", call, outcome, durationMs });
  if (outcome.refusal?.code === "cancelled")
    throw caller.signal?.reason ?? new RuntimeFault("deadline_passed", outcome.text);
  return outcome;
}

/** How often a call may enter again: after a wait for a person, or because another call was claimed meanwhile. */
const mostTries = 1000;

/** The gates, in their order. After a wait the call enters again, because the policy may have changed. */
async function passGates(call: ToolCall, caller: Caller, parts: Parts, tries = 0): Promise<ToolOutcome | Ending> {
  const counted = spend(call, caller, tries > 0);
  if (isEnding(counted)) return counted;
  const foreign = await ownRun(counted, parts);
  if (foreign !== undefined) return foreign;
  const arriving = awaitServer(counted, caller, parts);
  const left = arriving && (await arriving);
  if (left !== undefined) return left;
  const weighed = await assess(counted, parts);
  if (isEnding(weighed)) return weighed;
  const end = await runAssessed(weighed, caller, parts);
  if (isEnding(end)) return { weighing: weighed.weighing, ...end };
  if (!isAgain(end)) return end;
  return tries < mostTries ? passGates(end.again, caller, parts, tries + 1) : refuse("overloaded");
}

async function runAssessed(weighed: WeighedCall, caller: Caller, parts: Parts): Promise<ToolOutcome | Again | Ending> {
  const fresh = await once(weighed, parts);
  if (isEnding(fresh)) return fresh;
  const approved = await approve(fresh, caller, parts);
  if (isEnding(approved) || isAgain(approved)) return approved;
  return parts.executor.carryOut(approved, caller);
}

/** May it run, and does it need approval? Writes nothing: `explain`, `simulate` and edits use it too. */
export async function assess(call: CountedCall, parts: Parts): Promise<WeighedCall | Ending> {
  const found = lookup(call, parts);
  if (isEnding(found)) return found;
  const valid = await checkArguments(found, parts);
  if (isEnding(valid)) return valid;
  const judgedBy = parts.policy.now;
  const guards = judgedBy.guardrails?.onArguments ?? [];
  return weigh(guards.length === 0 ? valid : await guardArguments(valid, guards, parts), judgedBy, parts);
}

/** What the executor does, in this process or on a worker: the process that claims a call runs and settles it. */
export async function carryOut(
  call: ApprovedCall,
  caller: Caller,
  parts: Parts,
): Promise<ToolOutcome | Again | Ending> {
  const starting = startServer(call, caller, parts);
  if (starting !== undefined) {
    const started = await starting;
    return isAgain(started) ? started : { ...started, weighing: call.weighing };
  }
  const claimed = await claim(call, caller, parts);
  if (isAgain(claimed)) return claimed;
  if (isEnding(claimed)) return { ...claimed, weighing: call.weighing };
  return settle(claimed, await execute(claimed, caller, parts), caller, parts);
}

/** The terminal event of a call whose tool did not run; the others have theirs from `settle`, or from the request that asked. */
async function leave(
  call: ToolCall,
  end: Ending,
  { isRepeated, latencyMs }: { readonly isRepeated: boolean; readonly latencyMs: number },
  parts: Parts,
): Promise<ToolOutcome> {
  const outcome = outcomeOf(call.id, end);
  if (isRepeated || (end.ending === "pending" && end.asked)) return outcome;
  if (await parts.ledger.note(call, end, outcome, latencyMs)) return outcome;
  return outcomeOf(call.id, storeFailure(parts.ledger.broken));
}

/** A bug, or a store that failed before the claim, becomes a typed refusal without a stack or a secret. */
function broken(call: ToolCall, fault: unknown, parts: Parts): Ending {
  const message = parts.redactor.redact(messageOf(fault));
  parts.log(`The call \`${call.id}\` of \`${call.tool}\` failed inside Postern: ${message}`, call);
  return refuse("internal", `Invoker error: ${message}`);
}
