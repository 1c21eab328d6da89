import type { Clock } from "../../calls/clock.ts";
import type { Json } from "../../calls/json.ts";
import type { ApprovalRecord, CallRecord } from "../../calls/records.ts";
import { LiveMatches } from "../live-matches.ts";
import { leftUnknownBy, type Rows, type Won } from "../rules.ts";
import { type Batch, documentName } from "./batch.ts";
import type { Start } from "./queries.ts";
import type { Tables } from "./tables.ts";

/** The rows as they are now: what is queued over what is open over what is written. Nobody else writes (open.ts locks). */
export class CurrentRows implements Rows {
  readonly incarnation: string;
  /** Attempted rows by key, kept here because their settle comes soon. */
  readonly open: Map<string, CallRecord> = new Map();
  readonly #clock: Clock;
  readonly #tables: Tables;
  readonly #queued: () => Batch;
  readonly #live = new LiveMatches();

  constructor(options: {
    incarnation: string;
    clock: Clock;
    tables: Tables;
    start: Start;
    queued: () => Batch;
  }) {
    this.incarnation = options.incarnation;
    this.#clock = options.clock;
    this.#tables = options.tables;
    this.#queued = options.queued;
    for (const record of options.start.open) this.open.set(record.key, record);
    for (const record of [...options.start.live, ...options.start.open]) this.#live.moved(undefined, record, this.now);
  }

  readonly now = (): number => this.#clock.now();

  call(key: string): CallRecord | undefined {
    return this.#queued().call(key) ?? this.open.get(key) ?? this.#tables.callByKey(key);
  }

  /** Also by the id of its first arrival, when the call has another key, and while it is unknown of the one that left it so. */
  callNamed(name: string): CallRecord | undefined {
    const found = this.call(name);
    if (found !== undefined) return found;
    for (const { record } of this.#queued().calls)
      if (record.call.id === name || leftUnknownBy(record) === name) return record;
    const key = this.#tables.keyOfId(name);
    return key === undefined ? undefined : this.call(key);
  }

  live(match: string, except?: ReadonlySet<string>): CallRecord | undefined {
    const key = this.#live.find(match, this.now, except);
    return key === undefined ? undefined : this.call(key);
  }

  approval(id: string): ApprovalRecord | undefined {
    return this.#queued().approvals.get(id) ?? this.#tables.approvals.get(id);
  }

  version(kind: string, id: string): number {
    return this.document(kind, id)?.version ?? 0;
  }

  document(kind: string, id: string): { readonly version: number; readonly body: Json } | undefined {
    return this.#queued().documents.get(documentName(kind, id)) ?? this.#tables.document(kind, id);
  }

  /** A write has won and is in the batch. */
  won({ before, call }: Won): void {
    if (call?.match !== undefined || before?.match !== undefined) this.#live.moved(before, call, this.now);
  }

  written({ calls }: Batch): void {
    for (const { record, isNew } of calls) {
      if (record.state === "attempted" && record.fence === this.incarnation) this.open.set(record.key, record);
      else if (!isNew) this.open.delete(record.key);
    }
  }

  /** The batch was taken back: what can be found by `match` is what is written. */
  undone({ calls }: Batch): void {
    for (const { record } of calls)
      this.#live.moved(record, this.open.get(record.key) ?? this.#tables.callByKey(record.key), this.now);
  }
}
