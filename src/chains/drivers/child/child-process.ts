/** One process of a sandbox: started without environment, spoken to in frames, killable at any moment. */
import { SystemClock } from "../../../calls/clock.ts";
import type { JsonObject } from "../../../calls/json.ts";
import { closeIn, emptyFolder } from "./fences.ts";
import { keepWithUs, letGo, start } from "./fork-server.ts";
import { FrameLine, type Heard, type SandboxEnd } from "./frame-line.ts";
import type { FrameLimits } from "./frames.ts";
import type { Groups } from "./groups.ts";
import { KernelBounds } from "./kernel-bounds.ts";
import type { FrameBounds } from "./large-frame.ts";
import { backgroundNiceness, sandboxNiceness } from "./priority.ts";
import type { ProcessEnd, Started } from "./started.ts";

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly frames: FrameLimits;
  /** What is said to it before anything else; its answer must be `{ready: true}`. */
  readonly hello?: JsonObject;
  /** Whether the process shall open nothing once it is ready. False for engines that load as they go. */
  readonly closed: boolean;
  /** What it has entered before it became what it is. */
  readonly groups?: Groups | undefined;
  /** How often it is told to `rehearse` while nobody waits for it: code that has run often is compiled. None: never. */
  readonly rehearsals?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Milliseconds until it must be ready. */
  readonly startMs?: number;
}

const mostStderrBytes = 8_192;
/** For one that lost its host in the middle of something endless. */
const longestCpuSeconds = 900;
const defaultStartMs = 30_000;
const longestRestMs = 5_000;
const clock = new SystemClock(); // a process starts in real time

export class SandboxProcess implements SandboxEnd {
  readonly pid: number;
  readonly #child: Started;
  readonly #line: FrameLine;
  #stderr = "";
  #bounds: KernelBounds | undefined;
  /** Settles when the process is gone and reaped. */
  readonly gone: Promise<void>;

  private constructor(child: Started, frames: FrameLimits) {
    this.#child = child;
    this.pid = child.pid;
    this.#line = new FrameLine(frames, { write: (bytes) => child.stdin.write(bytes), kill: () => this.kill() });
    child.stdout.on("data", (chunk: Buffer) => this.#line.read(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk));
    for (const part of [child.stdin, child.stdout, child.stderr]) part.on("error", () => undefined); // its end is told
    living.add(this);
    keepWithUs(this.pid);
    this.gone = child.ended.then((end) => this.#leave(end));
  }

  #leave(end: ProcessEnd): void {
    living.delete(this);
    letGo(this.pid);
    const isShort = this.#bounds?.wasShort === true;
    this.#line.end({ heard: "ended", message: farewell(end), ...(isShort && { isShort }) });
    this.#bounds?.[Symbol.dispose]();
  }

  /** Starts it and waits until it is ready and closed in. @param isAwaited somebody waits for it @throws Error when it does not start */
  static async start(spec: ChildSpec, isAwaited = true): Promise<SandboxProcess> {
    const { command, args, environment = {} } = spec;
    const niceness = isAwaited ? sandboxNiceness : backgroundNiceness;
    const child = await start({ command, args, environment, folder: emptyFolder(), niceness }).catch(
      (cause: unknown) => {
        throw new Error(`\`${command}\` cannot be started.`, { cause });
      },
    );
    const own = new SandboxProcess(child, spec.frames);
    if (spec.groups !== undefined) own.#bounds = KernelBounds.within(spec.groups, own.pid);
    const answer = await own.ask({ ...spec.hello, do: "ready" }, spec.startMs ?? defaultStartMs);
    if (answer.heard !== "frame" || answer.frame["ready"] !== true) {
      own.kill();
      await own.gone;
      const why = answer.heard === "frame" ? "It said something else." : answer.message;
      throw new Error(`A sandbox did not start. ${why} ${own.stderr.trim().slice(-500)}`.trim()); // no script has run in it: nothing of one is in there
    }
    const open = spec.closed ? await closeIn(own.pid, { cpuSeconds: longestCpuSeconds }) : undefined;
    if (open === undefined) {
      if (spec.closed) await own.#enterBounds();
      return own;
    }
    own.kill();
    throw new Error(`A sandbox could not be closed in, and is not used. ${open}`);
  }

  async #enterBounds(): Promise<void> {
    const bounds = await KernelBounds.around(this.pid);
    if (living.has(this)) this.#bounds = bounds;
    else bounds?.[Symbol.dispose](); // it has ended meanwhile
  }

  /** What the kernel lets it have, where we may tell the kernel so. */
  bound(memoryBytes: number): void {
    this.#bounds?.allow(memoryBytes);
  }

  boundFrames(bounds: FrameBounds): void {
    this.#line.bound(bounds);
  }

  send(message: JsonObject): void {
    this.#line.send(message);
  }

  /** For what is no script's turn: one that does not answer in time is killed. */
  async ask(message: JsonObject, withinMs: number): Promise<Heard> {
    const inTime = clock.in(withinMs, () => this.kill());
    this.send(message);
    const heard = await this.receive();
    inTime();
    return heard;
  }

  receive(): Promise<Heard> {
    return this.#line.receive();
  }

  /**
   * Makes it forget the script it had. False: it did not, and is not fit for another one.
   *
   * Only for engines of which nothing of a script is left when its memory is thrown away.
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
    if (this.#child.isGone) return; // its number may be another's by now
    try {
      process.kill(-this.pid, "SIGKILL"); // the whole group
    } catch {
      killAlone(this.pid); // no group of its own yet, or gone already
    }
  }

  /** An idle one keeps nobody's process alive; it ends by itself when its input does. */
  idle(isIdle: boolean): void {
    this.#child.hold(!isIdle);
  }

  #keepStderr(chunk: Buffer): void {
    if (this.#stderr.length < mostStderrBytes) this.#stderr += chunk.toString("utf8").slice(0, mostStderrBytes);
  }

  /** What it wrote to standard error, bounded. */
  get stderr(): string {
    return this.#stderr;
  }
}

/** Those alive: none outlives us. */
const living = new Set<SandboxProcess>();
process.once("exit", () => {
  for (const own of living) own.kill();
});

/** Nothing of stderr reaches a model: a crashed engine may say there what it held. It is for the log. */
function farewell({ code, signal }: ProcessEnd): string {
  return signal === null ? `The sandbox ended with code ${code}.` : `The sandbox was ended by ${signal}.`;
}

function killAlone(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone, and about to be told of
  }
}
