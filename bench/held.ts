/** Holds still what a process has started, so that what it costs can be told from what else a machine does. */
import { readdirSync, readFileSync } from "node:fs";

/** Holds (`SIGSTOP`) every process that this one has started, and all they started. @returns lets them go on */
export function holdStarted(): () => void {
  const held = new Set<number>();
  for (;;) {
    const others = startedBy(process.pid).filter((pid) => !held.has(pid));
    if (others.length === 0) break; // one that was not held yet may have started another
    for (const pid of others) {
      held.add(pid);
      signal(pid, "SIGSTOP");
    }
  }
  return () => {
    for (const pid of held) signal(pid, "SIGCONT");
  };
}

/** With all those that these started. */
function startedBy(pid: number): number[] {
  const started = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent === undefined) continue;
    const siblings = started.get(parent) ?? [];
    started.set(parent, [...siblings, Number(name)]);
  }
  const below = (of: number): number[] => (started.get(of) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined; // it has just ended
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has just ended
  }
}
