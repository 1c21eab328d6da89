import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type ApprovalRecord,
  type CallRecord,
  type Clock,
  messageOf,
  newId,
  RuntimeFault,
  type StoreWrite,
} from "@postern/core";
import { answeringRow, answersUntil } from "./equal-calls.ts";
import { Followers } from "./followers.ts";
import { approvalsIn, artifactsNeededBy, audiencesIn, callsIn, countsIn, groupsIn } from "./lists.ts";
import { callNeedsArtifacts } from "./references.ts";
import { recordOf, type SettledRow, settledRow } from "./row-texts.ts";
import { leftUnknownBy, resultOfWrite, type StoredRows, secondEventOf, type WonWrite } from "./rules.ts";
import { type CountedCalls, StatisticRows, type StatisticsFilter } from "./statistics.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  GroupFilter,
  RequestCounts,
  SerializeEvent,
  Store,
  StoreEntry,
  StoreListener,
  StoreMeasures,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "./store.ts";
import { TextPages } from "./text-pages.ts";

/** For this long writes are answered in microtasks; then timers and sockets get a turn. */
const longestTurnMs = 4;
/** Entries of a long log that are read before other calls run. */
const entriesATurn = 256;

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly serialize: SerializeEvent;
  readonly log?: (problem: string) => void;
}

/** Keeps everything in Maps until the process ends. It is the default, and the reference of the contract. */
export class MemoryStore implements Store {
  readonly incarnation: string = newId("inc");
  readonly #serialize: SerializeEvent;
  readonly #calls = new Map<string, CallRecord | SettledRow>();
  /** Keys of rows by the ids of arrivals that are not their key: the first one, and those that left them unknown. */
  readonly #keys = new Map<string, string>();
  readonly #approvals = new Map<string, ApprovalRecord>();
  readonly #documents = new Map<string, Map<string, { readonly version: number; readonly text: string }>>();
  /** Keys of the rows with one `match` that may answer an equal call. */
  readonly #matches = new Map<string, Set<string>>();
  readonly #entries = new TextPages();
  readonly #statistics = new StatisticRows();
  readonly #followers: Followers;
  readonly #rows: StoredRows;
  #conflicts = 0;
  #unpublished: StoreEntry[] = [];
  #published: PromiseWithResolvers<Committed> | undefined;
  #nextSeq = 0;
  #broken: Error | undefined;
  readonly #clock: Clock;
  #turnBegan: number | undefined;

  constructor({ clock, serialize, log = () => {} }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#serialize = serialize;
    this.#followers = new Followers(log);
    this.#rows = {
      incarnation: this.incarnation,
      now: () => clock.now(),
      call: (key) => this.#call(key),
      answering: (call) => {
        const keys = this.#matches.get(call.match);
        if (keys === undefined) return undefined;
        const rows = Array.from(keys, (key) => this.#call(key)).filter((row) => row !== undefined);
        return answeringRow(call, rows, { now: clock.now(), approval: (id) => this.#approvals.get(id) });
      },
      approval: (id) => this.#approvals.get(id),
      version: (kind, id) => this.#documents.get(kind)?.get(id)?.version ?? 0,
    };
  }

  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Memory loses no write while the process lives. */
  readonly lost = 0;
  async flush(): Promise<void> {}

  async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    if (this.#broken !== undefined) throw this.#broken;
    const ruling = resultOfWrite(write, this.#rows);
    if (!ruling.won) {
      this.#conflicts += 1;
      return ruling;
    }
    try {
      const { event } = write;
      const body = event && this.#serialize(event);
      const second = secondEventOf(write);
      const secondBody = second && this.#serialize(second);
      this.#apply(ruling);
      this.#statistics.add(write);
      const named = write.writeId === undefined ? {} : { writeId: write.writeId };
      if (body !== undefined && event !== undefined)
        this.#unpublished.push({ seq: this.#nextSeq++, body, event, ...named });
      if (secondBody !== undefined && second !== undefined)
        this.#unpublished.push({ seq: this.#nextSeq++, body: secondBody, event: second });
    } catch (error) {
      throw new RuntimeFault("store_unwritable", `An event could not be written: ${messageOf(error)}`, {
        cause: error,
      });
    }
    this.#published ??= this.#publishSoon();
    const isAwaited = durability === "committed" || durability === "synced";
    return isAwaited ? this.#published.promise : { won: true };
  }

  async call(by: CallName): Promise<CallRecord | undefined> {
    if ("match" in by) return this.#rows.answering(by);
    const { key } = by;
    const other = this.#call(this.#keys.get(key) ?? "");
    const isNamed = other !== undefined && (other.call.id === key || leftUnknownBy(other) === key);
    return this.#call(key) ?? (isNamed ? other : undefined);
  }

  async approval(id: string): Promise<ApprovalRecord | undefined> {
    return this.#approvals.get(id);
  }

  async calls(where: CallFilter): Promise<readonly CallRecord[]> {
    const named = where.keys?.flatMap((key) => this.#calls.get(key) ?? []);
    return callsIn(named ?? this.#calls.values(), where, this.#rows.now()).map(whole);
  }

  async approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]> {
    return approvalsIn([...this.#approvals.values()], where, this.#rows.now());
  }

  async audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]> {
    return audiencesIn([...this.#approvals.values()], where, this.#rows.now());
  }

  async groups(where: GroupFilter): Promise<readonly WaitingGroup[]> {
    return groupsIn([...this.#approvals.values()], where, this.#rows.now());
  }

  async counts(where: Pick<ApprovalFilter, "tenant">): Promise<RequestCounts> {
    return countsIn(this.#approvals.values(), this.#calls.values(), where, this.#rows.now());
  }

  async statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]> {
    this.#statistics.prune();
    return this.#statistics.list(where);
  }

  async stranded(): Promise<readonly CallRecord[]> {
    return []; // no other process writes to this memory
  }

  async needed(): Promise<ReadonlySet<string>> {
    const now = this.#rows.now();
    const needing = [...this.#calls.values()].filter((row) => callNeedsArtifacts(row, now));
    return artifactsNeededBy(needing.map(whole), [...this.#approvals.values()], now);
  }

  async *events({
    after,
    limit = Infinity,
  }: {
    readonly after: number;
    readonly limit?: number;
  }): AsyncIterable<StoreEntry> {
    let left = limit;
    for (let seq = Math.max(0, after + 1); left > 0; seq += 1, left -= 1) {
      const body = this.#entries.at(seq);
      if (body === undefined) return;
      yield { seq, body };
      if (seq % entriesATurn === entriesATurn - 1) await nextTurn();
    }
  }

  follow(listener: StoreListener): Disposable {
    return this.#followers.add(listener);
  }

  readonly documents: Documents = {
    get: async (kind, id) => {
      const found = this.#documents.get(kind)?.get(id);
      return found && { version: found.version, body: JSON.parse(found.text) };
    },
    list: async (kind, prefix) =>
      [...(this.#documents.get(kind) ?? [])]
        .filter(([id, { text }]) => id.startsWith(prefix) && text !== "null")
        .map(([id]) => id)
        .sort(),
  };

  get measures(): StoreMeasures {
    return {
      conflicts: this.#conflicts,
      bytes: async () => ({}),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#broken !== undefined) return;
    this.#broken = new RuntimeFault("runtime_closed", "The store is closed.");
    await this.#published?.promise;
  }

  #call(key: string): CallRecord | undefined {
    const row = this.#calls.get(key);
    return row && whole(row);
  }

  #apply({ call, approval, document }: WonWrite): void {
    if (call !== undefined) {
      const before = this.#calls.get(call.key);
      this.#index(before, call);
      this.#calls.set(call.key, settledRow(call) ?? call);
      if (call.key !== call.call.id) this.#keys.set(call.call.id, call.key);
      const left = leftUnknownBy(call);
      if (left !== undefined) this.#keys.set(left, call.key);
    }
    if (approval !== undefined) {
      this.#approvals.set(approval.id, approval);
    }
    if (document !== undefined) {
      const { kind, id, version, body } = document;
      const ofKind = this.#documents.get(kind) ?? new Map();
      this.#documents.set(kind, ofKind.set(id, { version, text: JSON.stringify(body) }));
    }
  }

  #index(before: Pick<CallRecord, "match"> | undefined, row: CallRecord): void {
    const { key, match } = row;
    if (before?.match !== undefined) {
      const keys = this.#matches.get(before.match);
      keys?.delete(key);
      if (keys?.size === 0) this.#matches.delete(before.match);
    }
    if (match !== undefined && answersUntil(row) > -Infinity)
      this.#matches.set(match, (this.#matches.get(match) ?? new Set()).add(key));
  }

  #publishSoon(): PromiseWithResolvers<Committed> {
    const published = Promise.withResolvers<Committed>();
    const publish = (): void => {
      const entries = this.#unpublished;
      this.#unpublished = [];
      this.#published = undefined;
      for (const { body } of entries) this.#entries.add(body);
      this.#followers.notify(entries);
      published.resolve({ won: true });
    };
    if (this.#isTurnShort()) queueMicrotask(publish);
    else setImmediate(publish);
    return published;
  }

  #isTurnShort(): boolean {
    if (this.#turnBegan === undefined) {
      this.#turnBegan = this.#clock.monotonic();
      setImmediate(() => {
        this.#turnBegan = undefined;
      });
    }
    return this.#clock.monotonic() - this.#turnBegan <= longestTurnMs;
  }
}

function whole(row: CallRecord | SettledRow): CallRecord {
  return "outcomeText" in row ? recordOf(row) : row;
}
