/**
 * Who goes first where processors are short: everybody else, before a sandbox.
 *
 * Why twice: a sandbox is a session of its own, and Linux shares processors among sessions before it looks at a process's
 * niceness (autogroup, on in most kernels): measured, a child at 10 then takes half a processor from its host all the same.
 * So the session is put back too; where the control group decides instead, niceness is what counts.
 */
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";

/** From its first moment on: a start is 60 ms of a processor, and nobody's who waits for something else. */
export const sandboxNiceness = 5;
/** Of one that computes long: it is no hurry of anybody's. */
export const busyNiceness = 10;

/** For good: only root could hurry it again. */
export function standBack(pid: number, niceness: number): void {
  tryTo(() => setPriority(pid, niceness));
  tryTo(() => writeFileSync(`/proc/${pid}/autogroup`, String(niceness)));
}

/** It has just ended, may not be put back, or the kernel has no sessions to share among: its limits hold all the same. */
function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // as above
  }
}
