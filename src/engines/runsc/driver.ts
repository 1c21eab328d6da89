/** Python of this machine in gVisor: a kernel of its own between a script and the host. Replayed, never frozen. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { type Clock, SystemClock } from "../../core/clock.ts";
import { messageOf } from "../../core/fault.ts";
import { Groups } from "../../core/system/groups.ts";
import { SandboxProcess } from "../child/child-process.ts";
import { SandboxPool } from "../child/pool.ts";
import { pythonFrames, startScript } from "../cpython/child-script.ts";
import { cpythonProgram, probeOf } from "../cpython/prelude/prelude.ts";
import type { SandboxDriver, SandboxLimits, SandboxSession, ScriptProgram } from "../sandbox.ts";
import { type Bundle, makeBundle } from "./bundle.ts";

const run = promisify(execFile);

export interface RunscOptions {
  readonly clock?: Clock;
  readonly warm?: number;
  readonly most?: number;
}

const runscPaths = ["/usr/bin/runsc", "/usr/local/bin/runsc"] as const;
const pythonPaths = ["/usr/bin/python3", "/usr/local/bin/python3"] as const;
/** A container ends with Postern, also when Postern is killed. */
const setpriv = "/usr/bin/setpriv";
/** Address space of the interpreter, its libraries and gVisor's own part of it. */
const overheadBytes = 128 * 1024 * 1024;
/** gVisor's own: its kernel, and the two folders in memory. */
const kernelBytes = 192 * 1024 * 1024;
const fileBytes = 16 * 1024 * 1024;
/** No network, and bounds of ours instead of its own. */
const flags = ["--network=none", "--ignore-cgroups"] as const;

export class RunscDriver implements SandboxDriver, AsyncDisposable {
  readonly name = "runsc";
  readonly capabilities = { language: "python", durability: "replay", isolation: "kernel", parallel: true } as const;
  readonly engine = "cpython-runsc-1";
  readonly #options: RunscOptions;
  readonly #runsc: string | undefined = runscPaths.find((path) => existsSync(path));
  readonly #python: string | undefined = pythonPaths.find((path) => existsSync(path));
  #problem: Promise<string | undefined> | undefined;
  /** Containers from their start until they are removed. */
  readonly #lives = new Set<Promise<void>>();
  readonly #children = new Set<SandboxProcess>();
  #isClosed = false;
  #open: OpenedRunsc | undefined;

  constructor(options: RunscOptions = {}) {
    this.#options = options;
  }

  unavailable(): Promise<string | undefined> {
    this.#problem ??= this.#tried();
    return this.#problem;
  }

  async start(program: ScriptProgram, limits: SandboxLimits): Promise<SandboxSession> {
    const problem = await this.unavailable();
    if (problem !== undefined) throw new Error(`gVisor cannot run here: ${problem}.`);
    const { pool } = this.#opened();
    const { clock = new SystemClock() } = this.#options;
    return await startScript(program, limits, {
      ...{ pool, clock, overheadBytes, placeBytes: kernelBytes, terms: { fileBytes } },
      reading: endOf,
    });
  }

  restore(): Promise<SandboxSession> {
    return Promise.reject(new Error("Python in gVisor cannot be frozen; its script is replayed."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    this.#isClosed = true;
    await open?.pool[Symbol.asyncDispose]();
    for (const child of this.#children) child.kill();
    await Promise.all(this.#lives); // also those that are still starting
    open?.groups[Symbol.dispose]();
    open?.bundle[Symbol.dispose]();
  }

  #opened(): OpenedRunsc {
    if (this.#open !== undefined) return this.#open;
    if (this.#isClosed) throw new Error("The sandboxes are closed.");
    const groups = Groups.open(`postern-runsc-${process.pid}-${randomBytes(4).toString("hex")}`);
    if (groups === undefined) throw new Error(`gVisor cannot run here: ${noGroups}.`);
    const bundle = makeBundle(this.#python ?? "", cpythonProgram);
    const { warm = 1, most = 16 } = this.#options;
    const spec = { ...this.#command(bundle, groups), groups, frames: pythonFrames, closed: false };
    const start = (): Promise<SandboxProcess> => {
      const starting = SandboxProcess.start(spec);
      const life = this.#lived(starting, bundle, groups).finally(() => this.#lives.delete(life));
      this.#lives.add(life);
      return starting;
    };
    this.#open = { bundle, groups, pool: new SandboxPool({ start }, { warm, most, startsAtOnce: 2 }) };
    return this.#open;
  }

  /** In its groups, then gVisor. Both are named after the process, whose number `exec` keeps. */
  #command(bundle: Bundle, groups: Groups): { readonly command: string; readonly args: readonly string[] } {
    const script = `exec ${setpriv} --pdeathsig KILL "$1" --root "$2" ${flags.join(" ")} run --bundle "$3" "postern-$$"`;
    return groups.around("/bin/sh", ["-c", script, "sh", this.#runsc ?? "", bundle.state, bundle.folder]);
  }

  async #tried(): Promise<string | undefined> {
    if (process.platform !== "linux") return "gVisor needs Linux";
    if (this.#runsc === undefined) return "`runsc` is not installed (apt-get install runsc, or gvisor.dev)";
    if (this.#python === undefined) return "`/usr/bin/python3` is not installed (apt-get install python3)";
    if (!existsSync(setpriv)) return `\`${setpriv}\` is not installed (apt-get install util-linux)`;
    if (process.getuid?.() !== 0) return "gVisor makes containers as root only";
    using groups = Groups.open(`postern-runsc-probe-${process.pid}`);
    if (groups === undefined) return noGroups;
    using bundle = makeBundle(this.#python, probeOf("gvisor"));
    const { command, args } = this.#command(bundle, groups);
    const running = run(command, [...args], { env: {}, timeout: 20_000 });
    const pid = running.child.pid ?? 0;
    try {
      await running;
      return undefined;
    } catch (error) {
      return `gVisor cannot isolate here (${messageOf(error).split("\n").slice(1, 3).join(" ").slice(0, 200)})`;
    } finally {
      await this.#removed(bundle, `postern-${pid}`);
      groups.remove(pid);
    }
  }

  async #lived(starting: Promise<SandboxProcess>, bundle: Bundle, groups: Groups): Promise<void> {
    const child = await starting.catch(() => undefined); // the caller gets the error; its group is removed with the others
    if (child === undefined) return;
    this.#children.add(child);
    if (this.#isClosed) child.kill();
    await child.gone;
    this.#children.delete(child);
    await this.#removed(bundle, `postern-${child.pid}`);
    groups.remove(child.pid); // what the container held of it is gone now
  }

  /** A container outlives the process that started it. */
  async #removed(bundle: Bundle, id: string): Promise<void> {
    if (this.#runsc === undefined) return;
    const given = ["--root", bundle.state, "delete", "--force", id];
    await run(this.#runsc, given, { env: {}, timeout: 20_000 }).catch(
      () => undefined, // it has ended by itself
    );
  }
}

interface OpenedRunsc {
  readonly bundle: Bundle;
  readonly groups: Groups;
  readonly pool: SandboxPool<SandboxProcess>;
}

const noGroups = "its processes and memory cannot be bounded: no control group can be made";

/** gVisor reports a signal as 128 plus its number. */
function endOf(message: string): "cpu" | undefined {
  return /code (?:152|137)\b|SIGXCPU/.test(message) ? "cpu" : undefined;
}
