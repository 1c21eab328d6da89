/** Reads processor time and memory of a process and its children from `/proc`: an engine may run below the program that isolates it. */
import { readdirSync, readFileSync } from "node:fs";

const millisecondsPerTick = 10; // USER_HZ is 100 on every Linux that Node runs on
const bytesPerPage = 4_096;

export interface ProcessUsage {
  /** User and system time of all its threads and of its children that have ended. */
  readonly cpuMs: number;
  readonly residentBytes: number;
}

/** Usage of the process and all its descendants. Returns undefined when there is no `/proc`, or the process is gone. */
export function usageOf(pid: number): ProcessUsage | undefined {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // a name may contain spaces and brackets
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  const own = { cpuMs: ticks * millisecondsPerTick, residentBytes: Number(fields[21]) * bytesPerPage };
  return childrenOf(pid).reduce((sum, child) => {
    const { cpuMs = 0, residentBytes = 0 } = usageOf(child) ?? {};
    return { cpuMs: sum.cpuMs + cpuMs, residentBytes: sum.residentBytes + residentBytes };
  }, own);
}

/** The children of all its threads. Empty when the kernel does not list them. */
function childrenOf(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  const threads = read(() => readdirSync(folder)) ?? [];
  const lists = threads.map((thread) => read(() => readFileSync(`${folder}/${thread}/children`, "latin1")) ?? "");
  return lists.flatMap((list) => list.match(/\d+/g) ?? []).map(Number);
}

function read<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined; // another system, or it has just ended
  }
}
