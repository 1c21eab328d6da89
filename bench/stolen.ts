/** What a virtual machine wanted to compute and was not let: beside how much of it a figure says little. */
import { readFileSync } from "node:fs";

interface Ticks {
  readonly used: number;
  readonly stolen: number;
}

/** @returns since now: the share of what was wanted that others of the host had, 0 to 1; undefined where the kernel does not tell */
export function stolenSince(): () => number | undefined {
  const before = ticks();
  return () => {
    const now = ticks();
    if (before === undefined || now === undefined) return undefined;
    const [used, stolen] = [now.used - before.used, now.stolen - before.stolen];
    return used + stolen === 0 ? 0 : stolen / (used + stolen);
  };
}

/** Of all processors together. */
function ticks(): Ticks | undefined {
  try {
    const [all = ""] = readFileSync("/proc/stat", "latin1").split("\n", 1);
    const [user = 0, nice = 0, system = 0, , , interrupts = 0, soft = 0, stolen = 0] = all
      .trim()
      .split(/\s+/)
      .slice(1)
      .map(Number);
    return { used: user + nice + system + interrupts + soft, stolen };
  } catch {
    return undefined; // another system
  }
}
