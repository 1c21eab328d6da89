import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import type { CallRecord } from "../core/records.ts";
import type { Ledger } from "../pipeline/ledger.ts";
import type { FrozenScripts } from "./frozen.ts";

/** After what it waits for has lapsed. One that is sent again later still is replayed over the ledger: it loses its image alone. */
const keptMs = 30 * 86_400_000;

/** Lets go of what was put away of scripts that are over, or that nobody has come back to. */
export async function sweepFrozen(frozen: FrozenScripts, ledger: Pick<Ledger, "find">, clock: Clock): Promise<void> {
  for (const key of await frozen.keys()) {
    if (!isNeeded(await ledger.find({ key }), clock.now())) await frozen.forget(key);
    await setImmediate(); // there may be thousands
  }
}

function isNeeded(row: CallRecord | undefined, now: number): boolean {
  switch (row?.state) {
    case "attempted":
      return true;
    case "suspended":
    case "unknown":
    case "held":
      return row.aliveUntil === undefined || now < row.aliveUntil + keptMs;
    default:
      return false;
  }
}
