/** The child process of a sandbox on this host: it exchanges frames, and can be killed at any moment. */
import { existsSync } from "node:fs";
import { type JsonObject, SystemClock } from "@postern/core";
import type { Groups } from "@postern/core/system";
import { closeIn } from "./fences.ts";
import { FrameLine, type ReceivedFrame, type SandboxEnd } from "./frame-line.ts";
import type { FrameLimits } from "./frames.ts";
import { HostProcess, type ProcessEnd } from "./host-process.ts";

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly frames: FrameLimits;
  /** The first message. The answer must be `{ready: true}`. */
  readonly hello?: JsonObject;
  /** Whether the process may open nothing once it is ready. False for engines that load files later. */
  readonly closed: boolean;
  /** The control groups that it enters before it becomes the engine. */
  readonly groups?: Groups | undefined;
  readonly environment?: Readonly<Record<string, string>>;
  /** Milliseconds until it must be ready. */
  readonly startMs?: number;
}

const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));
/** Kills a process together with the host, unless it changes its user. Such a process looks itself whether its host lives. */
const endsWithHost = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL"];
/** Ends a process that runs an endless loop after its host died. */
const longestCpuSeconds = 900;
const defaultStartMs = 30_000;
const longestRestMs = 5_000;
const clock = new SystemClock(); // starting a process takes real time

export class SandboxProcess implements SandboxEnd {
  readonly gone: Promise<void>;
  readonly #process: HostProcess;
  readonly #line: FrameLine;
  readonly #groups: Groups | undefined;

  private constructor(own: HostProcess, { frames, groups }: ChildSpec) {
    this.#process = own;
    this.#groups = groups;
    this.#line = new FrameLine(frames, { write: (bytes) => own.child.stdin?.write(bytes), kill: () => own.kill() });
    own.child.stdout?.on("data", (chunk: Buffer) => this.#line.read(chunk));
    this.gone = own.gone.then((end) => {
      this.#reportEnd(end);
      groups?.remove(own.pid);
    });
  }

  /** Starts it and waits until it is ready and limited. @throws Error when it does not start */
  static async start(spec: ChildSpec): Promise<SandboxProcess> {
    const { command, args, environment, startMs = defaultStartMs } = spec;
    if (command.includes("/") && !existsSync(command))
      throw new Error(`\`${command}\` cannot be started: there is no such program.`);
    const [program = command, ...rest] = [...endsWithHost, command, ...args];
    const own = new SandboxProcess(await HostProcess.start(program, rest, environment), spec);
    const answer = await own.ask({ ...spec.hello, do: "ready" }, startMs);
    if (answer.kind !== "frame" || answer.frame["ready"] !== true) {
      own.kill();
      await own.gone;
      const why = answer.kind === "frame" ? "Its first answer was wrong." : answer.message;
      const errorText = own.#process.errorText.trim().slice(-500); // no script has run yet, so it holds nothing of one
      throw new Error(`A sandbox did not start. ${why} ${errorText}`.trim());
    }
    const problem = spec.closed ? await closeIn(own.pid, { cpuSeconds: longestCpuSeconds }) : undefined;
    if (problem === undefined) return own;
    own.kill();
    throw new Error(`A sandbox could not be closed in, and is not used. ${problem}`);
  }

  get pid(): number {
    return this.#process.pid;
  }

  get hasUnaskedFrame(): boolean {
    return this.#line.hasUnaskedFrame;
  }

  /** Sets the kernel's limit where control groups exist. */
  limitMemory(memoryBytes: number): void {
    try {
      this.#groups?.limitMemory(this.pid, memoryBytes);
    } catch {
      // it holds more already, from its last script: the host's own check ends it
    }
  }

  send(message: JsonObject): void {
    this.#line.send(message);
  }

  receive(): Promise<ReceivedFrame> {
    return this.#line.receive();
  }

  /** Asks outside a script's turn. A process that does not answer in time is killed. */
  async ask(message: JsonObject, withinMs: number): Promise<ReceivedFrame> {
    const inTime = clock.in(withinMs, () => this.kill());
    this.send(message);
    const answer = await this.receive();
    inTime();
    return answer;
  }

  /**
   * Makes it forget its script. Returns false when it cannot serve another one.
   *
   * Only for engines that keep nothing of a script once its memory is freed.
   */
  async rest(): Promise<boolean> {
    const answer = await this.ask({ do: "rest" }, longestRestMs);
    if (answer.kind !== "frame" || answer.frame["rested"] !== true || this.hasUnaskedFrame) return false;
    this.#line.renew();
    return true;
  }

  kill(): void {
    this.#process.kill();
  }

  idle(isIdle: boolean): void {
    this.#process.idle(isIdle);
  }

  #reportEnd({ code, signal }: ProcessEnd): void {
    const isShort = this.#groups?.ranOutOfMemory(this.pid) === true;
    const message = signal === null ? `The sandbox ended with code ${code}.` : `The sandbox was ended by ${signal}.`;
    this.#line.end({ kind: "ended", message, ...(isShort && { isShort }) });
  }
}
