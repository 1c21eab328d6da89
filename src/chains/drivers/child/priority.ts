/**
 * Who goes first where processors are short: everybody else, before a sandbox.
 *
 * Why twice: a sandbox is a session of its own, and Linux shares processors among sessions before it looks at a process's
 * niceness (autogroup, on in most kernels): measured, a child at 10 then takes half a processor from its host all the same.
 * So the session is put back too; where the control group decides instead, niceness is what counts. And neither keeps one that
 * wakes from taking the processor of who answered it: that is what the class is for.
 */
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { promisify } from "node:util";

/** From its first moment on: a start is 60 ms of a processor, and nobody's who waits for something else. */
export const sandboxNiceness = 5;
/**
 * Of one that computes long, and, for as long as it lives, of one that is started before somebody waits for it: neither is a
 * hurry of anybody's. Beside one who never rests it has a thirtieth of a processor left: a neighbour loses less than that, and
 * what a script may compute by default still fits into the time it has. With 10 neighbours noticed such starts as with 5.
 */
export const backgroundNiceness = 15;

const chrt = ["/usr/bin/chrt", "/bin/chrt"].find((path) => existsSync(path)); // util-linux has it, beside prlimit
const run = promisify(execFile);
let mayBatch: Promise<boolean> | undefined;

interface Started {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * How something is started that never takes a processor from one who has it only because it woke (`SCHED_BATCH`); what it
 * starts is of the same class. It keeps its process's number and has no more environment. As it is given where there is no
 * such class to be had.
 */
export async function withoutHaste(command: string, args: readonly string[]): Promise<Started> {
  if (chrt === undefined || !existsSync(command)) return { command, args };
  mayBatch ??= batches(chrt);
  return (await mayBatch) ? { command: chrt, args: [...inBatches, command, ...args] } : { command, args };
}

const inBatches = ["--batch", "0"] as const;

/** Some containers forbid it, and small images have a `chrt` that knows no such class. */
async function batches(path: string): Promise<boolean> {
  try {
    await run(path, [...inBatches, path, "--version"], { env: {}, timeout: 10_000 });
    return true;
  } catch {
    return false; // niceness holds all the same
  }
}

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
