import type { CallState, ToolOutcome } from "@postern/core";
import type { History, PastCall } from "../policy/policy.ts";

/** A call in one scope. */
export interface HistoryEntry extends PastCall {
  readonly key: string;
  state: PastCall["state"];
  waits: boolean;
  /** An earlier try of the same call, which returns if the claim of this one is lost. */
  before: HistoryEntry | undefined;
  isLost: boolean;
}

/** The past calls of one run, principal or tenant, oldest first. Each change gives it another version. */
export class ScopedHistory implements History {
  readonly id: string;
  readonly windowMs: number;
  version = 0;
  tainted = false;
  calls: HistoryEntry[] = [];
  /** Undefined once the scope is read. */
  loading: Promise<boolean> | undefined;

  constructor(id: string, windowMs: number) {
    this.id = id;
    this.windowMs = windowMs;
  }

  taint(): void {
    this.tainted = true;
    this.version += 1;
  }

  /** Its `before` gives up its place. */
  add(entry: HistoryEntry): void {
    const { before } = entry;
    if (before !== undefined) this.calls = this.calls.filter((other) => other !== before);
    this.calls.push(entry);
    this.version += 1;
  }

  /** Takes out an entry whose claim was lost, and puts back the last try before it that was not. */
  remove(entry: HistoryEntry): void {
    let last = entry.before;
    while (last?.isLost === true) last = last.before;
    const at = this.calls.indexOf(entry);
    if (at < 0) return; // a later try of the same call has replaced it
    this.calls = this.calls.toSpliced(at, 1, ...(last === undefined ? [] : [last]));
    this.version += 1;
  }

  /** Puts it in the place of the last entry of the same call, or at the end. */
  replace(entry: HistoryEntry): void {
    const at = this.calls.findLastIndex(({ key }) => key === entry.key);
    if (at < 0) this.calls.push(entry);
    else this.calls = this.calls.with(at, entry);
    this.version += 1;
  }

  /** Adds calls of the store before its own, which are newer than their rows. */
  addRead(read: readonly HistoryEntry[]): void {
    const own = new Set(this.calls.map(({ key }) => key));
    this.calls = [...read.filter(({ key }) => !own.has(key)), ...this.calls];
    this.version += 1;
  }

  /** Drops calls that left the window, now and then. */
  trim(now: number): void {
    const after = now - this.windowMs;
    const first = this.calls[0];
    if (first === undefined || first.at > after || this.calls.length < 64) return;
    this.calls = this.calls.filter(({ at }) => at > after);
  }
}

export function pastState(state: CallState): PastCall["state"] {
  return state === "ok" || state === "failed" || state === "unknown" ? state : "attempted";
}

/** Whether the outcome has text of third parties: of an open-world tool or an artifact of one, or marked. A withheld result does not count. */
export function isFromOutside(openWorld: boolean | undefined, outcome: ToolOutcome | undefined): boolean {
  const { marks, openWorld: isOfArtifact, refusal } = outcome ?? {};
  return (openWorld === true || marks !== undefined || isOfArtifact === true) && refusal?.code !== "result_withheld";
}
