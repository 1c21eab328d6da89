/** What a script has used beside its calls and its time, which its session counts. Absent in what an earlier Postern put away. */
export interface Spent {
  /** Questions of the host. */
  readonly hostCalls?: number;
  /** Bytes put away as they came. */
  readonly putBytes?: number;
  /** Bytes put away once more, as what their pieces make together. */
  readonly joinedBytes?: number;
}

export const mostHostCalls: number = 1000;
export const mostPutBytes: number = 64 * 1024 * 1024;
const mostBroughtBytes = 8 * 1024 * 1024;
const mostOverdrawn = 1000;
/** So many batches in a row of nothing but calls over the budget: the script does not listen. */
const mostVainBatches = 3;

/**
 * One for all turns of a script in one engine. What is spent travels with its journal, so that nobody who lets a script go
 * on has more for it than it had.
 */
export class Budget {
  #hostCalls: number;
  #putBytes: number;
  #joinedBytes: number;
  /** Calls made after the session's were used up. A script that has made one waits for nobody any more, so that they need not travel. */
  #overdrawn = 0;
  #vainBatches = 0;
  #broughtBytes = 0;

  constructor({ hostCalls = 0, putBytes = 0, joinedBytes = 0 }: Spent = {}) {
    this.#hostCalls = hostCalls;
    this.#putBytes = putBytes;
    this.#joinedBytes = joinedBytes;
  }

  get spent(): Spent {
    return { hostCalls: this.#hostCalls, putBytes: this.#putBytes, joinedBytes: this.#joinedBytes };
  }

  /** What a script asks of the host costs no call, and has an end of its own. False: it is over. */
  ask(): boolean {
    this.#hostCalls += 1;
    return this.#hostCalls <= mostHostCalls;
  }

  /** False: they are more than is left, and none of them is counted. */
  put(bytes: number): boolean {
    if (this.#putBytes + bytes > mostPutBytes) return false;
    this.#putBytes += bytes;
    return true;
  }

  /** Pieces come first: what is joined is never more than what came. False: these are more, and are not read. */
  join(bytes: number): boolean {
    if (this.#joinedBytes + bytes > this.#putBytes) return false;
    this.#joinedBytes += bytes;
    return true;
  }

  beginBatch(): void {
    this.#broughtBytes = 0;
  }

  /** What goes into a script at once is one frame, made at once. False: it is full, and what comes next is refused. */
  bring(bytes: number): boolean {
    this.#broughtBytes += bytes;
    return this.#broughtBytes <= mostBroughtBytes;
  }

  /**
   * After a batch: whether the script goes on asking for what it was told that it has no more of. What it asks of the host
   * in between says nothing about its calls.
   */
  isIgnored(calls: number, overdrawn: number): boolean {
    this.#overdrawn += overdrawn;
    if (calls > 0) this.#vainBatches = calls === overdrawn ? this.#vainBatches + 1 : 0;
    const isFlood = this.#overdrawn > mostOverdrawn || this.#hostCalls > 2 * mostHostCalls;
    return isFlood || this.#vainBatches > mostVainBatches;
  }
}
