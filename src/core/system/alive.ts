import { readFileSync } from "node:fs";
import { codeOf } from "./error-code.ts";

/** Whether a process runs, under any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return codeOf(error) === "EPERM"; // it lives, under another user
  }
}

/** Killed but not yet reaped by its parent, so nothing of it runs. Known only on systems with /proc. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "Z";
  } catch {
    return false; // no /proc, or the process has ended
  }
}
