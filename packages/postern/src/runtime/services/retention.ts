import { type Clock, canonical, counted, type JsonObject, RuntimeFault } from "@postern/core";
import { entriesErased } from "../../call/noted.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import type { Reads } from "../../policy/policy.ts";
import { Sweeper } from "../../results/sweeper.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { SecondLayer } from "../../secrets/second-layer.ts";
import { Lease } from "../../store/lease.ts";
import type { Store, StoreUpkeep } from "../../store/store.ts";
import type { Runtime } from "../api/api.ts";
import { writeNote } from "./note.ts";

/**
 * After how many days what has ended is erased, by kind. A kind that is not named is kept.
 *
 * @public
 */
export interface Retention {
  /** Calls: arguments and outcomes. The row of a call with an idempotency key stays without them. */
  readonly callsDays?: number | undefined;
  /** Requests that were decided or have expired. */
  readonly approvalsDays?: number | undefined;
  /** Entries of the audit log about calls. Their digests stay, so the log still verifies. */
  readonly eventsDays?: number | undefined;
}

export interface RetentionOptions {
  readonly retention: Retention;
  readonly store: Store;
  readonly clock: Clock;
  /** How far back the rules of the policy in force count. */
  readonly reads: () => Reads | undefined;
  readonly note: Runtime["note"];
  /** The log's key signs that these entries are erased. */
  readonly proveErasure: (places: readonly number[]) => Promise<JsonObject>;
  readonly parts: Pick<Parts, "clock" | "policy" | "redactor">;
  /** Masks what is written to the log. */
  readonly secondLayer: Pick<SecondLayer, "written">;
  readonly log: (problem: string) => void;
}

const dayMs = 86_400_000;
/** A call may have been held so long before it started. */
const longestHeldMs = 31 * dayMs;
/** As soon as so many rows or entries are erased, or are to be, the log says so. */
const toldAtOnce = 10_000;

/** Erases at the start and every hour, in turns. Of several processes on a store one does it. Returns undefined if everything is kept. */
export function openRetention(options: RetentionOptions): Sweeper | undefined {
  const { retention, store, clock, log } = options;
  if (Object.values(retention).every((days) => days === undefined)) return undefined;
  const { upkeep } = store;
  if (upkeep === undefined) {
    log("`retention` is set, and the store of this Postern erases nothing by itself.");
    return undefined;
  }
  if (retention.callsDays !== undefined && longestWindow(options) === Number.POSITIVE_INFINITY)
    log("A rule of the policy counts all calls of a run, so `retention` erases only calls that never started.");
  return new Sweeper({ sweep: (stop) => sweep(options, upkeep, stop), what: "Old rows", clock, log });
}

async function sweep(options: RetentionOptions, upkeep: StoreUpkeep, stop: AbortSignal): Promise<void> {
  const { retention, store, clock, log } = options;
  await using lease = await new Lease({ store, clock, log, name: "retention" }).open();
  const goesOn = (): boolean => lease.isOwner && !stop.aborted;
  const { callsDays, approvalsDays, eventsDays } = retention;
  if (callsDays !== undefined) await eraseRows("calls", callsDays, { ...options, upkeep, goesOn });
  if (approvalsDays !== undefined) await eraseRows("approvals", approvalsDays, { ...options, upkeep, goesOn });
  if (eventsDays !== undefined) await eraseEntries(eventsDays, { ...options, upkeep, goesOn });
}

interface Sweep extends RetentionOptions {
  readonly upkeep: StoreUpkeep;
  /** Asked after each turn. */
  readonly goesOn: () => boolean;
}

async function eraseRows(kind: "calls" | "approvals", days: number, sweep: Sweep): Promise<void> {
  const { clock, reads, upkeep, goesOn, note } = sweep;
  const now = clock.now();
  const countedAfter = reads() === undefined ? now : now - longestWindow(sweep) - longestHeldMs;
  const where = { now, before: now - days * dayMs, countedAfter };
  const tell = async (count: number): Promise<void> => {
    const data = { kind, count, before: new Date(where.before).toISOString() };
    await note("runtime.rows_erased", `${count} ${kind} older than ${counted(days, "day")} were erased`, { data });
  };
  let untold = 0;
  if (!goesOn()) return;
  for await (const erased of upkeep.erase(kind, where)) {
    untold += erased;
    if (untold >= toldAtOnce) {
      await tell(untold);
      untold = 0;
    }
    if (!goesOn()) break;
  }
  if (untold > 0) await tell(untold);
}

/** The log says first what will be erased, so that the verifier can tell it from what was taken away. */
async function eraseEntries(days: number, sweep: Sweep): Promise<void> {
  const { clock, upkeep, goesOn } = sweep;
  const erase = async (places: readonly number[]): Promise<void> => {
    const count = places.length;
    const summary = `${counted(count, "entry", "entries")} of the log about calls, older than ${counted(days, "day")}, are erased`;
    await noteErased(summary, places, sweep);
    await upkeep.eraseEntries(places);
  };
  const found: number[] = [];
  if (!goesOn()) return;
  for await (const places of upkeep.erasable(clock.now() - days * dayMs)) {
    found.push(...places);
    if (found.length >= toldAtOnce) await erase(found.splice(0));
    if (!goesOn()) return;
  }
  if (found.length > 0) await erase(found);
}

/** @throws RuntimeFault `internal` if a part of the proof looks like a secret: masked, it would prove nothing */
async function noteErased(
  summary: string,
  places: readonly number[],
  { proveErasure, parts, secondLayer, store }: RetentionOptions,
): Promise<void> {
  const data = await proveErasure(places);
  if (canonical(redactJson(data, secondLayer.written)) !== canonical(data)) {
    const message =
      "Entries were not erased: a secret that Postern masks is a part of the proof. It tries again in an hour.";
    throw new RuntimeFault("internal", message);
  }
  await writeNote({ type: entriesErased, summary, more: { data } }, parts, store);
}

function longestWindow({ reads }: RetentionOptions): number {
  return Math.max(0, ...Object.values(reads() ?? {}).filter((window) => window !== undefined));
}
