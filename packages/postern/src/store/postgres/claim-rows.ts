/** Whether a claim still holds when its answer came late. */
import { messageOf, type StoreWrite, SystemClock } from "@postern/core";
import type { KnownRows } from "./batch-rows.ts";

/** Milliseconds between two looks at calls whose lease was not renewed. */
const lookAgainMs = 50;
const machine = new SystemClock();

/** How rows are read while this process holds its lease. */
export interface HeldReading {
  readonly now: () => number;
  readonly read: (writes: readonly StoreWrite[], now: number) => Promise<KnownRows>;
  /** Monotonic: until then no other process takes the calls of this one. */
  readonly heldUntil: () => number;
  readonly log: (problem: string) => void;
}

/** The rows of calls, read while the lease is held; undefined if the store ends before. */
export async function readWhileHeld(
  writes: readonly StoreWrite[],
  { heldUntil, read, now, log }: HeldReading,
  isBroken: () => boolean,
): Promise<KnownRows["calls"] | undefined> {
  while (!isBroken()) {
    const until = heldUntil();
    try {
      if (machine.monotonic() < until) {
        const { calls } = await read(writes, now());
        if (machine.monotonic() < until) return calls;
      }
    } catch (error) {
      log(`Calls could not be read, and wait for it: ${messageOf(error)}`);
    }
    await new Promise<void>((resolve) => machine.in(lookAgainMs, resolve, false));
  }
  return undefined;
}

/** Whether the row of the claim says that this arrival runs it in this opening of the store. */
export function runsHere(write: StoreWrite, calls: KnownRows["calls"], incarnation: string): boolean {
  if (write.write !== "claim") return false;
  const { key, call } = write.record;
  const row = calls.get(key)?.row;
  const isOwn = row?.state === "attempted" && row.fence === incarnation;
  return isOwn && (row.attemptedBy ?? row.call.id) === call.id;
}
