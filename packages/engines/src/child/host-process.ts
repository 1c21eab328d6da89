/** A process of a sandbox on this host: it has no environment, is killed with all that it started, and never outlives the host. */
import { type ChildProcess, spawn } from "node:child_process";
import { setPriority } from "node:os";
import { emptyFolder } from "./fences.ts";

/** Other processes of this host have priority. */
const sandboxNiceness = 10;
const mostErrorBytes = 8_192;

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export class HostProcess {
  readonly child: ChildProcess;
  /** Resolves when the process is gone and reaped. */
  readonly gone: Promise<ProcessEnd>;
  #errorText = "";
  #isGone = false;

  private constructor(child: ChildProcess) {
    this.child = child;
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part?.on("error", () => undefined); // "close" reports the end
    child.stderr?.on("data", (chunk: Buffer) => {
      if (this.#errorText.length < mostErrorBytes) this.#errorText += chunk.toString("utf8").slice(0, mostErrorBytes);
    });
    living.add(this);
    this.gone = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#isGone = true;
        living.delete(this);
        resolve({ code, signal });
      });
    });
  }

  /** Starts a program in a process group of its own. @throws Error when it cannot be started */
  static async start(
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<HostProcess> {
    const options = { cwd: emptyFolder(), env: { ...environment }, detached: true, windowsHide: true } as const;
    const child = spawn(command, [...args], { ...options, stdio: ["pipe", "pipe", "pipe"] });
    if (child.pid === undefined) {
      const cause = await new Promise((resolve) => child.once("error", resolve));
      throw new Error(`\`${command}\` cannot be started.`, { cause });
    }
    try {
      setPriority(child.pid, sandboxNiceness);
    } catch {
      // it has ended already
    }
    return new HostProcess(child);
  }

  get pid(): number {
    return this.child.pid ?? 0; // it was started
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** What it wrote to standard error, bounded. A script's data may be in it, so a model must not see it. */
  get errorText(): string {
    return this.#errorText;
  }

  kill(): void {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return; // another process may have its number by now
    try {
      process.kill(-this.pid, "SIGKILL"); // the whole group
    } catch {
      this.child.kill("SIGKILL"); // it has no process group yet, or it is gone
    }
  }

  /** An idle process does not keep the host alive. It ends when its input ends. */
  idle(isIdle: boolean): void {
    const { child } = this;
    for (const part of [child, child.stdin, child.stdout, child.stderr])
      if (part !== null && "ref" in part && "unref" in part)
        (part as { ref(): void; unref(): void })[isIdle ? "unref" : "ref"]();
  }
}

/** The live processes: all are killed when the host exits. */
const living = new Set<HostProcess>();
process.once("exit", () => {
  for (const own of living) own.kill();
});
