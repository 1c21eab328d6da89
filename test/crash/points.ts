import type { ApprovalRecord, CallRecord, StoreWrite } from "../../packages/core/src/records.ts";
import type { CountedCalls, StatisticsFilter } from "../../packages/postern/src/store/statistics.ts";
import type {
  AudienceFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  GroupFilter,
  RequestCounts,
  Store,
  StoreEntry,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "../../packages/postern/src/store/store.ts";

/**
 * The points at which a process can be killed, in the order of one approved call. A checkpoint is anchored in a file
 * between `checkpoint.after` and `anchored.before`.
 */
export const points = [
  "hold.before",
  "hold.after",
  "decide.before",
  "decide.after",
  "claim.before",
  "claim.after",
  "execute.before",
  "execute.after",
  "settle.before",
  "settle.after",
  "acknowledged",
  "checkpoint.before",
  "checkpoint.after",
  "anchored.before",
  "anchored.after",
] as const;
export type Point = (typeof points)[number];

/** Returns a function that sends a real SIGKILL when the process reaches the point for the `nth` time. */
export function killer(point: string, nth: number): (at: string) => void {
  let met = 0;
  return (at) => {
    if (at !== point) return;
    met += 1;
    if (met === nth) process.kill(process.pid, "SIGKILL");
  };
}

/** The writes that have points. */
type Named = "hold" | "decide" | "claim" | "settle" | "checkpoint" | "anchored";

/** The name of a write that has points. */
export function namedWrite(write: StoreWrite): Named | undefined {
  const name = write.write === "document" ? write.kind : write.write;
  return (points as readonly string[]).includes(`${name}.before`) ? (name as Named) : undefined; // the list says so
}

/** A store that reports each point before and after a write, and otherwise uses the real store. */
export class PointStore implements Store {
  readonly #store: Store;
  readonly #at: (point: Point) => void;

  constructor(store: Store, at: (point: Point) => void) {
    this.#store = store;
    this.#at = at;
  }

  get incarnation(): string {
    return this.#store.incarnation;
  }
  get documents(): Documents {
    return this.#store.documents;
  }
  get broken(): Error | undefined {
    return this.#store.broken;
  }
  get lostBefore(): string | undefined {
    return this.#store.lostBefore;
  }
  get lost(): number {
    return this.#store.lost;
  }
  flush(): Promise<void> {
    return this.#store.flush();
  }

  async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    const name = namedWrite(write);
    if (name === undefined) return this.#store.commit(write, durability);
    this.#at(`${name}.before`);
    const committed = await this.#store.commit(write, durability);
    this.#at(`${name}.after`);
    return committed;
  }

  call(by: CallName): Promise<CallRecord | undefined> {
    return this.#store.call(by);
  }
  approval(id: string): Promise<ApprovalRecord | undefined> {
    return this.#store.approval(id);
  }
  calls(where: CallFilter): Promise<readonly CallRecord[]> {
    return this.#store.calls(where);
  }
  approvals(where: AudienceFilter): Promise<readonly ApprovalRecord[]> {
    return this.#store.approvals(where);
  }
  audiences(where: WaitingFilter): Promise<readonly WaitingAudience[]> {
    return this.#store.audiences(where);
  }
  groups(where: GroupFilter): Promise<readonly WaitingGroup[]> {
    return this.#store.groups(where);
  }
  counts(where: { readonly tenant?: string }): Promise<RequestCounts> {
    return this.#store.counts(where);
  }
  statistics(where: StatisticsFilter): Promise<readonly CountedCalls[]> {
    return this.#store.statistics(where);
  }
  stranded(): Promise<readonly CallRecord[]> {
    return this.#store.stranded();
  }
  needed(digests: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#store.needed(digests);
  }
  events(where: { readonly after: number; readonly limit?: number }): AsyncIterable<StoreEntry> {
    return this.#store.events(where);
  }
  follow(listener: (entries: readonly StoreEntry[]) => void): Disposable {
    return this.#store.follow(listener);
  }
  [Symbol.asyncDispose](): Promise<void> | PromiseLike<void> {
    return this.#store[Symbol.asyncDispose]();
  }
}
