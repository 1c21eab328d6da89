import { readFileSync } from "node:fs";

/** Who started a process, who started that one, and so on. @throws Error when one of them has just ended */
export function ancestorsOf(pid: number): readonly number[] {
  const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
  return parent === 0 ? [] : [parent, ...ancestorsOf(parent)];
}
