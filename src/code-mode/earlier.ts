/**
 * What a script did before this turn: thawed, sent again, or moved to another engine, it is held against that call by call.
 *
 * Invariant: nothing of a batch is invoked before every call of it is the one that was made under its number before. What a
 * script was refused and went on from stays refused, and what did not run then does not run once something after it has:
 * the script may have made up for it.
 */
import { arrivalOf } from "../core/arrival.ts";
import type { ToolCall } from "../core/call.ts";
import { childNumber } from "../core/child-key.ts";
import { type Ending, isEnding, refuse } from "../core/ending.ts";
import type { CallRecord } from "../core/records.ts";
import type { AskedCall } from "../engines/sandbox.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { ask } from "../pipeline/gates/budget.ts";
import { keyOf } from "../pipeline/gates/once.ts";
import { assess } from "../pipeline/invoke.ts";
import type { ParentCall } from "./chain-dependencies.ts";
import type { CallLine, MadeCall } from "./journal.ts";
import { lineOf } from "./trace.ts";

/** Where a call stands: its number, and that of the first call after those it is made together with. */
export interface CallPosition {
  readonly number: number;
  readonly batchEnd: number;
}

export class Earlier {
  readonly #made: ReadonlyMap<number, MadeCall>;
  readonly #rows: ReadonlyMap<number, CallRecord>;
  /** The last number of which anything is known. */
  readonly #last: number;

  constructor(made: ReadonlyMap<number, MadeCall>, rows: ReadonlyMap<number, CallRecord>) {
    this.#made = made;
    this.#rows = rows;
    this.#last = Math.max(-1, ...made.keys(), ...rows.keys());
  }

  get isEmpty(): boolean {
    return this.#last === -1;
  }

  /** Which calls a turn did not come to. */
  notReached(reached: (number: number) => boolean): readonly number[] {
    const known = new Set([...this.#made.keys(), ...this.#rows.keys()]);
    return [...known].filter((number) => !reached(number)).sort((one, other) => one - other);
  }

  /** For the trace of a turn that did not come to it. None: it has no end. */
  lineOf(number: number, place: number): CallLine | undefined {
    const row = this.#rows.get(number);
    const made = this.#made.get(number);
    const call = row?.call ?? made;
    const outcome = made?.told ?? row?.outcome;
    if (call === undefined || outcome === undefined || outcome.status === "pending") return undefined;
    const endedAt = row?.endedAt ?? 0;
    return lineOf(call, outcome, { place, durationMs: endedAt - (row?.startedAt ?? endedAt), callId: row?.call.id });
  }

  /** Of the call that is on record under its number. */
  idOf(number: number): string | undefined {
    return this.#rows.get(number)?.call.id;
  }

  /** Whether another call was made under its number. */
  isOther(number: number, { tool, action }: AskedCall, call: ToolCall): boolean {
    const made = this.#made.get(number);
    if (made !== undefined) return made.tool !== tool || made.action !== action || made.digest !== shortDigest(call);
    const row = this.#rows.get(number)?.call;
    return row !== undefined && !(row.tool === call.tool && row.action === call.action && row.digest === call.digest);
  }

  /** How a call goes on that was made before: as it ended, where that must not become another end now, or entering again. */
  async enter(call: ToolCall, { number, batchEnd }: CallPosition, parts: Parts): Promise<Ending | ToolCall> {
    const told = this.#made.get(number)?.told;
    if (told !== undefined) return { ending: "replayed", outcome: told, key: keyOf(call) ?? call.id };
    const row = this.#rows.get(number);
    if (row !== undefined && row.key !== keyOf(call)) return refuse("idempotency_conflict"); // by another rule: it would run again
    // A request that ended without a yes is told as it ended: sent as a new one, the call would ask again.
    if (row !== undefined && (await hasLapsed(row, parts))) return arrivalOf({ ...call, resumes: row.key });
    if (this.#last < batchEnd) return call;
    if (row === undefined) return notRun(call, parts);
    const { state, retryable, outcome, key } = row;
    if (state === "held")
      return refuse(
        "approval_timed_out",
        `The request \`${row.approvalId ?? row.call.id}\` for \`${call.tool}\` is still open; send the script again later.`,
      );
    const wouldRun = state === "unknown" || (state === "failed" && retryable);
    return wouldRun && outcome !== undefined ? { ending: "replayed", outcome, key } : call;
  }
}

async function hasLapsed({ state, approvalId }: CallRecord, { approvals }: Parts): Promise<boolean> {
  if (approvalId === undefined || (state !== "held" && state !== "denied")) return false;
  const approval = await approvals.get(approvalId);
  return approval !== undefined && approval.state !== "pending" && approval.state !== "approved";
}

/** As it is kept: enough to tell one call from another. */
export function shortDigest({ digest }: Pick<ToolCall, "digest">): string {
  return digest.slice(0, 16);
}

/** What the ledger has of a script's calls, by the numbers their keys are made of, from one on. */
export async function earlierRows(
  { id, key }: Pick<ParentCall, "id" | "key">,
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

/** It left nothing: it was refused, or cut off before it began. Refused as it was, where it would be again. */
async function notRun(call: ToolCall, parts: Parts): Promise<Ending> {
  const weighed = await assess(ask(call), parts);
  if (isEnding(weighed)) return weighed;
  if (weighed.verdict === "PREVIEW")
    return refuse(
      "preview_only",
      `\`${call.tool}\` is only previewed at autonomy level ${call.authority.autonomy ?? "A0"}: ${weighed.weighing.reasons
        .filter(({ says }) => says === "PREVIEW")
        .map(({ rule }) => rule)
        .join(", ")}. It was not run.`,
    );
  return refuse(
    "cancelled",
    `\`${call.tool}\` was not run when the script was here before, and what came after it is done: it is not run now.`,
  );
}
