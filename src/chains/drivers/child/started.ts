/** A process that was started, whichever way. */
import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { standBack, withoutHaste } from "./priority.ts";

export interface ToStart {
  readonly command: string;
  readonly args: readonly string[];
  /** All that it has of one. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where it begins. */
  readonly folder: string;
  /** `sandboxNiceness` or more. */
  readonly niceness: number;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The first of a session and a group of its own: a terminal's Ctrl-C is ours to translate, and a kill takes all of it. */
export interface Started {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when it is gone, and all that it said is read. */
  readonly ended: Promise<ProcessEnd>;
  /** Gone: its number may be another's by now. */
  readonly isGone: boolean;
  /** Whether our process stays for it. */
  hold(isHeld: boolean): void;
}

/** By this process itself. @throws Error when there is no such program */
export async function startHere({ environment, folder, niceness, ...asked }: ToStart): Promise<Started> {
  const { command, args } = await withoutHaste(asked.command, asked.args);
  const child = spawn(command, [...args], {
    cwd: folder,
    env: { ...environment },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
    windowsHide: true,
  });
  const { pid } = child;
  if (pid === undefined) throw await new Promise((resolve) => child.once("error", resolve));
  standBack(pid, niceness);
  const streams = [child.stdin, child.stdout, child.stderr] as const;
  child.on("error", () => undefined); // its end is told by "close"
  return {
    ...{ pid, stdin: child.stdin, stdout: child.stdout, stderr: child.stderr },
    ended: new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal }))),
    get isGone() {
      return child.exitCode !== null || child.signalCode !== null;
    },
    hold(isHeld) {
      child[isHeld ? "ref" : "unref"]();
      for (const stream of streams) holdStream(stream, isHeld);
    },
  };
}

export function holdStream(stream: object, isHeld: boolean): void {
  if ("ref" in stream && "unref" in stream) (stream as { ref(): void; unref(): void })[isHeld ? "ref" : "unref"]();
}
