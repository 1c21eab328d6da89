import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { compileCache } from "../../setup/compile-cache.ts";
import { sourcesInProcesses } from "../../setup/sources.ts";

const bin = join(import.meta.dirname, "../../../packages/postern/bin/postern.js");
const preload = pathToFileURL(join(import.meta.dirname, "at-point.ts")).href;
const startAgainMs = 250;

export interface ProgramOptions {
  readonly name: string;
  readonly folder: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** It ended, and no fault ended it. */
  readonly ended: (how: string) => void;
}

/** A `postern` process and its supervisor, which starts it again when it ends. What it says is in the file `log`. */
export class Program {
  readonly name: string;
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;
  #isReady = false;
  #isWanted = true;
  #starting: Promise<void> | undefined;
  /** Resolves when the process that runs now has ended. */
  #end: Promise<unknown> = Promise.resolve();

  constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** It printed that it is ready, and has not ended. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts it until it is ready. A start can fail while what it needs is away. */
  start(): Promise<void> {
    this.#isWanted = true;
    this.#starting ??= this.#untilReady().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #untilReady(): Promise<void> {
    while (this.#isWanted && !(await this.#started())) await pause(startAgainMs);
  }

  /** Ends it. It does not start again by itself. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#isWanted = false;
    this.#isReady = false;
    this.#child?.kill(signal);
    if (signal !== "SIGKILL") this.#child?.kill("SIGCONT"); // a stopped process takes no other signal
    await this.#end;
  }

  /** It kills itself there. Returns whether it did so in time. */
  async killAt(point: string, nth: number, patienceMs: number): Promise<boolean> {
    this.#isWanted = false;
    this.#child?.send({ point, nth }, () => {});
    const isOver = await Promise.race([this.#end.then(() => true), pause(patienceMs, false)]);
    if (!isOver) await this.kill();
    this.#isReady = false;
    return isOver;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async #started(): Promise<boolean> {
    const { folder, words, env, ended } = this.#options;
    const log = openSync(join(folder, "log"), "a");
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTERN_"));
    const child = spawn(process.execPath, [bin, ...words], {
      cwd: folder,
      env: {
        ...Object.fromEntries(own),
        ...compileCache,
        ...env,
        NODE_OPTIONS: `${sourcesInProcesses.NODE_OPTIONS} --import=${preload}`,
      },
      stdio: ["ignore", "pipe", log, "ipc"],
    });
    closeSync(log);
    this.#child = child;
    const end = once(child, "exit");
    const ready = once(child.stdout ?? child, "data").then(() => true);
    this.#end = end;
    this.#isReady = await Promise.race([ready, end.then(() => false)]);
    if (!this.#isReady) return false;
    void end.then(async ([code, signal]) => {
      this.#isReady = false;
      if (!this.#isWanted) return;
      ended(`${this.name} ended by itself: ${signal ?? `exit code ${code}`}`);
      await this.start();
    });
    return true;
  }
}
