import { readFileSync } from "node:fs";
import { codeOf } from "./error-code.ts";

/** Whether a process runs, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return codeOf(error) === "EPERM"; // somebody else's process, but it lives
  }
}

/** Killed, and not yet buried by its parent: nothing of it runs any more. Known only where there is a /proc. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) === "Z";
  } catch {
    return false; // no /proc, or it is gone just now
  }
}
