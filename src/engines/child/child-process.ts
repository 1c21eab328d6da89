/** The child process of a sandbox: it has no environment, exchanges frames, and can be killed at any moment. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { setPriority } from "node:os";
import { SystemClock } from "../../core/clock.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Groups } from "../../core/system/groups.ts";
import { closeIn, emptyFolder } from "./fences.ts";
import { FrameLine, type ReceivedFrame, type SandboxEnd } from "./frame-line.ts";
import type { FrameLimits } from "./frames.ts";

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly frames: FrameLimits;
  /** The first message. The answer must be `{ready: true}`. */
  readonly hello?: JsonObject;
  /** Whether the process may open nothing once it is ready. False for engines that load files later. */
  readonly closed: boolean;
  /** The control groups that it enters before it becomes what it is. */
  readonly groups?: Groups | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  /** Milliseconds until it must be ready. */
  readonly startMs?: number;
}

/** Other processes of this host have priority. */
const sandboxNiceness = 10;
const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));
/** Kills a process together with the host, unless it changes its user. Such a process looks itself whether its host lives. */
const endsWithHost = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL"];
const mostStderrBytes = 8_192;
/** Ends a process that runs an endless loop after its host died. */
const longestCpuSeconds = 900;
const defaultStartMs = 30_000;
const longestRestMs = 5_000;
const clock = new SystemClock(); // starting a process takes real time

export class SandboxProcess implements SandboxEnd {
  readonly pid: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #line: FrameLine;
  #stderr = "";
  readonly #groups: Groups | undefined;
  /** Resolves when the process is gone and reaped. */
  readonly gone: Promise<void>;

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, { frames, groups }: ChildSpec) {
    this.#child = child;
    this.pid = pid;
    this.#groups = groups;
    this.#line = new FrameLine(frames, { write: (bytes) => child.stdin.write(bytes), kill: () => this.kill() });
    child.stdout.on("data", (chunk: Buffer) => this.#line.read(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part.on("error", () => undefined); // "close" reports the end
    living.add(this);
    this.gone = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#leave(code, signal);
        resolve();
      });
    });
  }

  #leave(code: number | null, signal: string | null): void {
    living.delete(this);
    const isShort = this.#groups?.wasShort(this.pid) === true;
    this.#line.end({ heard: "ended", message: farewell(code, signal), ...(isShort && { isShort }) });
    this.#groups?.remove(this.pid);
  }

  /** Starts it and waits until it is ready and limited. @throws Error when it does not start */
  static async start(spec: ChildSpec): Promise<SandboxProcess> {
    const { child, pid } = await spawned(spec);
    const own = new SandboxProcess(child, pid, spec);
    const answer = await own.ask({ ...spec.hello, do: "ready" }, spec.startMs ?? defaultStartMs);
    if (answer.heard !== "frame" || answer.frame["ready"] !== true) {
      own.kill();
      await own.gone;
      const why = answer.heard === "frame" ? "It said something else." : answer.message;
      throw new Error(`A sandbox did not start. ${why} ${own.stderr.trim().slice(-500)}`.trim()); // no script has run yet, so the text holds nothing of one
    }
    const open = spec.closed ? await closeIn(own.pid, { cpuSeconds: longestCpuSeconds }) : undefined;
    if (open === undefined) return own;
    own.kill();
    throw new Error(`A sandbox could not be closed in, and is not used. ${open}`);
  }

  /** Sets the kernel's limit where control groups exist. */
  bound(memoryBytes: number): void {
    try {
      this.#groups?.bound(this.pid, memoryBytes);
    } catch {
      // it holds more already, from its last script: the host's own look ends it
    }
  }

  send(message: JsonObject): void {
    this.#line.send(message);
  }

  /** Asks outside a script's turn. A process that does not answer in time is killed. */
  async ask(message: JsonObject, withinMs: number): Promise<ReceivedFrame> {
    const inTime = clock.in(withinMs, () => this.kill());
    this.send(message);
    const heard = await this.receive();
    inTime();
    return heard;
  }

  receive(): Promise<ReceivedFrame> {
    return this.#line.receive();
  }

  /**
   * Makes it forget its script. Returns false when it cannot serve another one.
   *
   * Only for engines that keep nothing of a script once its memory is freed.
   */
  async rest(): Promise<boolean> {
    const heard = await this.ask({ do: "rest" }, longestRestMs);
    if (heard.heard !== "frame" || heard.frame["rested"] !== true || this.hasMore) return false;
    this.#line.renew();
    return true;
  }

  get hasMore(): boolean {
    return this.#line.hasMore;
  }

  kill(): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return; // another process may have its number by now
    try {
      process.kill(-this.pid, "SIGKILL"); // the whole group
    } catch {
      killAlone(this.pid); // it has no process group yet, or it is gone
    }
  }

  /** An idle process does not keep the host alive. It ends when its input ends. */
  idle(isIdle: boolean): void {
    const { stdin, stdout, stderr } = this.#child;
    for (const part of [this.#child, stdin, stdout, stderr]) hold(part, !isIdle);
  }

  #keepStderr(chunk: Buffer): void {
    if (this.#stderr.length < mostStderrBytes) this.#stderr += chunk.toString("utf8").slice(0, mostStderrBytes);
  }

  /** What it wrote to standard error, bounded. */
  get stderr(): string {
    return this.#stderr;
  }
}

/** The live processes: all are killed when the host exits. */
const living = new Set<SandboxProcess>();
process.once("exit", () => {
  for (const own of living) own.kill();
});

/** Without stderr: a crashed engine may print a script's data there, and a model must not see it. */
function farewell(code: number | null, signal: string | null): string {
  return signal === null ? `The sandbox ended with code ${code}.` : `The sandbox was ended by ${signal}.`;
}

/** Starts a process in its own group and without our environment. The kernel ends it with the host where it can. */
async function spawned({
  command,
  args,
  environment = {},
}: ChildSpec): Promise<{ readonly child: ChildProcessWithoutNullStreams; readonly pid: number }> {
  if (command.includes("/") && !existsSync(command))
    throw new Error(`\`${command}\` cannot be started: there is no such program.`);
  const [program = command, ...rest] = [...endsWithHost, command, ...args];
  const options = { cwd: emptyFolder(), env: { ...environment }, detached: true, windowsHide: true } as const;
  const child = spawn(program, rest, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  const { pid } = child;
  if (pid === undefined) {
    const cause = await new Promise((resolve) => child.once("error", resolve));
    throw new Error(`\`${command}\` cannot be started.`, { cause });
  }
  try {
    setPriority(pid, sandboxNiceness);
  } catch {
    // it has ended already
  }
  return { child, pid };
}

function hold(part: object, isHeld: boolean): void {
  if ("ref" in part && "unref" in part) (part as { ref(): void; unref(): void })[isHeld ? "ref" : "unref"]();
}

function killAlone(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone; "close" follows
  }
}
