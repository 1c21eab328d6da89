/** What the kernel tells of a process and of all it has started. Where there is no `/proc`, it tells nothing. */
import { readdirSync, readFileSync } from "node:fs";

const millisecondsPerTick = 10; // USER_HZ is 100 on every Linux that Node runs on
const bytesPerPage = 4_096;

/**
 * User and system time of all its threads, and of every process beneath it, those that have ended included: an engine may
 * stand behind the walls that were started for it. Undefined when there is no `/proc`, or the process is gone.
 */
export function cpuMsOf(pid: number): number | undefined {
  return overTree(pid, ownCpuMsOf);
}

/** Of one that has started nothing: a look at each of its threads for what it started costs ten times as much. */
export function ownCpuMsOf(pid: number): number | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * millisecondsPerTick;
}

export function residentBytesOf(pid: number): number | undefined {
  return overTree(pid, (each) => {
    const text = read(`/proc/${each}/statm`);
    return text === undefined ? undefined : Number(text.split(" ")[1]) * bytesPerPage;
  });
}

/** The sum over a process and what it has started. */
function overTree(pid: number, measure: (pid: number) => number | undefined): number | undefined {
  const own = measure(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (overTree(child, measure) ?? 0), own);
}

/** It, and every process beneath it. */
export function treeOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** Of each of its threads: whichever started them. None where the kernel does not tell. */
function childrenOf(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  return namesIn(folder).flatMap((thread) => (read(`${folder}/${thread}/children`)?.match(/\d+/g) ?? []).map(Number));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // as below
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // another system, or it has just ended
  }
}
