/**
 * Compares a script with its earlier calls, when it is thawed, sent again, or moved to another engine.
 * Invariant: no call of a batch is invoked before every call of it is the one that had its number before. A call that
 * was refused stays refused. A call that did not run does not run once a later one has, because the script may have
 * handled that; unless the script had no result of it yet.
 */

import { type CallRecord, childNumber, RuntimeFault, type ToolCall, type ToolOutcome } from "@postern/core";
import type { AskedCall } from "@postern/core/sandbox";
import { arrivalOf } from "../call/arrival.ts";
import { type Ending, isEnding, refuse } from "../call/ending.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { uncountedCall } from "../pipeline/gates/budget.ts";
import { keyOf } from "../pipeline/gates/call-names.ts";
import { assess } from "../pipeline/invoke.ts";
import type { Journal, MadeCall } from "./journal.ts";
import { lineOf } from "./result.ts";

export class Replay {
  readonly #journal: Journal;
  /** By number: the calls of earlier turns, from the script and from the ledger. */
  readonly #made: ReadonlyMap<number, MadeCall>;
  readonly #rows: ReadonlyMap<number, CallRecord>;
  readonly #open: ReadonlySet<number>;
  /** The last number of an earlier turn; -1 when there is none. */
  readonly #last: number;
  /** Calls with a lower number are in the frozen part of the script. */
  readonly #from: number;
  readonly #reached = new Set<number>();
  /** By place. */
  readonly #numbers = new Map<number, number>();

  /** @param open the numbers of the calls that the script had no result of when it was here before */
  constructor(journal: Journal, rows: ReadonlyMap<number, CallRecord>, open: readonly number[] = []) {
    this.#journal = journal;
    this.#open = new Set(open);
    this.#made = new Map(journal.made);
    this.#rows = rows;
    this.#last = Math.max(-1, ...this.#made.keys(), ...rows.keys());
    this.#from = journal.callsMade;
  }

  /** Numbers the calls of tools that are made together. Idempotency keys are made of the numbers. */
  beginBatch(called: readonly AskedCall[]): void {
    for (const { place } of called) this.#numbers.set(place, this.#journal.callsMade++);
  }

  numberOf({ place }: Pick<AskedCall, "place">): number {
    const number = this.#numbers.get(place);
    if (number === undefined) throw new RuntimeFault("internal", `No call was begun in place ${place}.`);
    return number;
  }

  /** Whether another call had its number before. */
  isOther(asked: AskedCall, call: ToolCall): boolean {
    const number = this.numberOf(asked);
    const made = this.#made.get(number);
    if (made !== undefined)
      return made.tool !== asked.tool || made.action !== asked.action || made.digest !== shortDigest(call);
    const row = this.#rows.get(number)?.call;
    return row !== undefined && !(row.tool === call.tool && row.action === call.action && row.digest === call.digest);
  }

  /** Records that the script makes this call. */
  reach(asked: AskedCall, call: ToolCall): void {
    const { tool, action } = asked;
    const number = this.numberOf(asked);
    this.#reached.add(number);
    this.#journal.make({ number, tool, digest: shortDigest(call), ...(action !== undefined && { action }) });
  }

  /** Records the refusal or preview that the script gets and continues from. */
  record(asked: AskedCall, outcome: ToolOutcome): void {
    const number = this.numberOf(asked);
    const short = { ...outcome, content: [] };
    if (short.status === "preview")
      this.#journal.refuse(number, { ...short, preview: { summary: "", supported: false } });
    else if (short.refusal !== undefined) this.#journal.refuse(number, short);
  }

  /** The id of the row that the ledger has under the number of a call. */
  rowIdOf(asked: AskedCall): string | undefined {
    return this.#rows.get(this.numberOf(asked))?.call.id;
  }

  /** Returns the call if it enters the pipeline (again), or how it ended before if that must not change now. */
  async enter(asked: AskedCall, call: ToolCall, parts: Parts): Promise<Ending | ToolCall> {
    if (this.#last === -1) return call;
    const number = this.numberOf(asked);
    const refused = this.#made.get(number)?.refused;
    if (refused !== undefined) return { ending: "replayed", outcome: refused, key: keyOf(call) ?? call.id };
    const row = this.#rows.get(number);
    if (row !== undefined && row.key !== keyOf(call)) return refuse("idempotency_conflict"); // another rule: it would run again
    // A request that ended without an approval keeps its end. As a new call it would ask again.
    if (row !== undefined && (await hasLapsed(row, parts))) return arrivalOf({ ...call, resumes: row.key });
    if (this.#last < this.#journal.callsMade) return call;
    const isOpen = this.#open.has(number);
    if (row === undefined) return isOpen ? call : notRun(call, parts);
    const { state, retryable, outcome, key } = row;
    if (state === "held" && !isOpen)
      return refuse(
        "approval_timed_out",
        `The request \`${row.approvalId ?? row.call.id}\` for \`${call.tool}\` is still open; send the script again later.`,
      );
    const wouldRun = state === "unknown" || (state === "failed" && retryable);
    return wouldRun && outcome !== undefined ? { ending: "replayed", outcome, key } : call;
  }

  /** Adds the earlier calls that this turn did not make to the trace. Returns whether there are any. */
  noteMissed(): boolean {
    const known = [...new Set([...this.#made.keys(), ...this.#rows.keys()])];
    const missed = known.filter((number) => number >= this.#from && !this.#reached.has(number));
    for (const number of missed.sort((one, other) => one - other)) this.#noteEarlier(number);
    return missed.length > 0;
  }

  #noteEarlier(number: number): void {
    const row = this.#rows.get(number);
    const made = this.#made.get(number);
    const call = row?.call ?? made;
    const outcome = made?.refused ?? row?.outcome;
    if (call === undefined || outcome === undefined || outcome.status === "pending") return;
    const endedAt = row?.endedAt ?? 0;
    const durationMs = endedAt - (row?.startedAt ?? endedAt);
    this.#journal.last += 1;
    this.#journal.note(lineOf(call, outcome, { place: this.#journal.last, durationMs, callId: row?.call.id }));
  }
}

async function hasLapsed({ state, approvalId }: CallRecord, { approvals }: Parts): Promise<boolean> {
  if (approvalId === undefined || (state !== "held" && state !== "denied")) return false;
  const approval = await approvals.get(approvalId);
  return approval !== undefined && approval.state !== "pending" && approval.state !== "approved";
}

/** Long enough to compare two calls. */
function shortDigest({ digest }: Pick<ToolCall, "digest">): string {
  return digest.slice(0, 16);
}

/** The rows of a script's calls in the ledger, by number, from the number `from` on. */
export async function earlierRows(
  { id, key }: { readonly id: string; readonly key: string },
  from: number,
  { ledger }: Pick<Parts, "ledger">,
): Promise<ReadonlyMap<number, CallRecord>> {
  const rows = new Map<number, CallRecord>();
  for (const row of await ledger.calledBy(id)) {
    const number = childNumber(row.call, key);
    if (number !== undefined && number >= from) rows.set(number, row);
  }
  return rows;
}

/** A call without a row was refused, or was interrupted before it began. It is refused again, with the same refusal if that still holds. */
async function notRun(call: ToolCall, parts: Parts): Promise<Ending> {
  const weighed = await assess(uncountedCall(call), parts);
  if (isEnding(weighed)) return weighed;
  if (weighed.verdict === "PREVIEW") {
    const rules = weighed.weighing.reasons.filter(({ effect }) => effect === "PREVIEW").map(({ rule }) => rule);
    const level = call.authority.autonomy ?? "A0";
    const why = `\`${call.tool}\` is only previewed at autonomy level ${level}: ${rules.join(", ")}. It was not run.`;
    return refuse("preview_only", why);
  }
  return refuse(
    "cancelled",
    `\`${call.tool}\` was not run when the script was here before, and a later call has run since. It is not run now.`,
  );
}
