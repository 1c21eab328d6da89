import { type CallRecord, type DurableEvent, messageOf, RuntimeFault, type StoreWrite } from "@postern/core";
import { resultOfWrite, secondEventOf } from "../rules.ts";
import { StatisticRows } from "../statistics.ts";
import type { Committed, SerializeEvent, StoreEntry } from "../store.ts";
import { BatchRows, documentName, type KnownRows } from "./batch-rows.ts";
import type { VersionedRow } from "./rows.ts";

/** An event and its stored body. */
export interface EntryToWrite extends Omit<StoreEntry, "seq"> {
  readonly event: DurableEvent;
}

/** What a batch writes and answers, if the database has the rows that it was decided on. */
export interface Decided {
  readonly rows: BatchRows;
  readonly now: number;
  readonly entries: readonly EntryToWrite[];
  readonly statistics: StatisticRows;
  readonly answers: readonly (Committed | RuntimeFault)[];
  /** The lease before it was written. */
  readonly heldUntil: number;
}

interface DecideOptions {
  readonly known: KnownRows;
  readonly now: number;
  readonly incarnation: string;
  /** The lease before the batch is written. */
  readonly heldUntil: number;
  readonly serialize: SerializeEvent;
}

export const won: Committed = { won: true };
const nothing: KnownRows = {
  calls: new Map(),
  live: new Map(),
  approvals: new Map(),
  documents: new Map(),
  scopes: new Map(),
};

/**
 * The rows as they are if no other process changed them: those that this process attempted, and documents as the writers
 * expect them. Undefined if a write needs more than that.
 */
export function assumedRows(
  writes: readonly StoreWrite[],
  own: ReadonlyMap<string, VersionedRow<CallRecord>>,
): KnownRows | undefined {
  const claimed = new Set<string>();
  const documents = new Map<string, number>();
  for (const write of writes) {
    switch (write.write) {
      case "claim":
        claimed.add(write.record.key);
        if (write.use !== undefined) return undefined;
        break;
      case "settle": {
        const isKnown = own.has(write.key) || claimed.has(write.key);
        if (write.by !== undefined || write.unspend !== undefined || !isKnown) return undefined;
        break;
      }
      case "decide":
      case "join":
        return undefined;
      case "document": {
        const name = documentName(write.kind, write.id);
        if (!documents.has(name)) documents.set(name, write.expectedVersion);
      }
    }
  }
  return { ...nothing, calls: own, documents };
}

export function decideBatch(
  writes: readonly StoreWrite[],
  { known, now, incarnation, heldUntil, serialize }: DecideOptions,
): Decided {
  const rows = new BatchRows({ incarnation, now, known });
  const entries: EntryToWrite[] = [];
  const statistics = new StatisticRows();
  const answers = writes.map((write): Committed | RuntimeFault => {
    const ruling = resultOfWrite(write, rows);
    if (!ruling.won) return ruling;
    try {
      entries.push(...entriesOf(write, serialize));
    } catch (cause) {
      return new RuntimeFault("store_unwritable", `An event could not be written: ${messageOf(cause)}.`, { cause });
    }
    rows.take(ruling);
    statistics.add(write);
    return won;
  });
  return { rows, now, entries, statistics, answers, heldUntil };
}

/** Whether nothing was won. */
export function isWithoutEffect({ entries, answers }: Decided): boolean {
  return entries.length === 0 && !answers.some((answer) => "won" in answer && answer.won);
}

function entriesOf(write: StoreWrite, serialize: SerializeEvent): readonly EntryToWrite[] {
  const { event, writeId } = write;
  const second = secondEventOf(write);
  const named = writeId === undefined ? {} : { writeId };
  const entries = event === undefined ? [] : [{ event, body: serialize(event), ...named }];
  return second === undefined ? entries : [...entries, { event: second, body: serialize(second) }];
}

/** The last entry that a lost write was told of; -1 if there is none. */
export function lastChangeIn(answers: readonly (Committed | RuntimeFault)[]): number {
  return Math.max(-1, ...answers.map((answer) => changedPast(answer) ?? -1));
}

/** The entry of another process that a lost claim was not judged by. */
export function changedPast(answer: Committed | RuntimeFault): number | undefined {
  return "pastChanged" in answer ? answer.pastChanged : undefined;
}
