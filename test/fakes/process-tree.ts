import { SystemClock } from "../../src/core/clock.ts";
import { ProcessTree, type ProcessUsage } from "../../src/engines/child/kernel-tells.ts";

/** Of a process and all beneath it, as of now. */
export function measured(pid: number): ProcessUsage | undefined {
  const tree = new ProcessTree(pid, new SystemClock());
  try {
    return tree.measure();
  } finally {
    tree.close();
  }
}

export function cpuMsOf(pid: number): number | undefined {
  return measured(pid)?.cpuMs;
}
