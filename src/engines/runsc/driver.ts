/** Python of this machine in gVisor, whose own kernel is between a script and the host. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../core/fault.ts";
import { Groups } from "../../core/system/groups.ts";
import { makeOwnFolder } from "../../core/system/own-folder.ts";
import { removeTemporaryFolder, temporaryFolder } from "../../core/system/temporary-folder.ts";
import { ChildPool } from "../child/pool.ts";
import { cpythonProgram, probeOf, pythonEnvironment, pythonFlags, timeZones } from "../cpython/prelude/prelude.ts";
import {
  folderBytes,
  PythonDriver,
  type PythonOptions,
  type PythonSandboxes,
  pythonFrames,
} from "../cpython/python-driver.ts";

const run = promisify(execFile);
const runMs = 20_000;
const nobodyId = 65_534;
const runscPaths = ["/usr/bin/runsc", "/usr/local/bin/runsc"] as const;
const pythonPaths = ["/usr/bin/python3", "/usr/local/bin/python3"] as const;
/** Ends a container with Postern, also when Postern is killed. */
const setpriv = "/usr/bin/setpriv";
/** Address space of the interpreter, its libraries and gVisor's own part of it. */
const overheadBytes = 128 * 1024 * 1024;
/** Memory of gVisor itself: its kernel, and the two folders in memory. */
const kernelBytes = 192 * 1024 * 1024;
/** No network, and Postern's control groups instead of its own. */
const flags = ["--network=none", "--ignore-cgroups"] as const;

interface OpenedRunsc {
  readonly bundle: Bundle;
  readonly groups: Groups;
  readonly pool: ChildPool;
}

export class RunscDriver extends PythonDriver {
  readonly name = "runsc";
  readonly capabilities = { language: "python", durability: "replay", isolation: "kernel", parallel: true } as const;
  readonly engine = "cpython-runsc-1";
  readonly #options: PythonOptions;
  readonly #runsc: string | undefined = runscPaths.find((path) => existsSync(path));
  readonly #python: string | undefined = pythonPaths.find((path) => existsSync(path));
  #problem: Promise<string | undefined> | undefined;
  #isClosed = false;
  #open: OpenedRunsc | undefined;

  constructor(options: PythonOptions = {}) {
    super(options);
    this.#options = options;
  }

  unavailable(): Promise<string | undefined> {
    this.#problem ??= this.#probe();
    return this.#problem;
  }

  protected async sandboxes(): Promise<PythonSandboxes> {
    const problem = await this.unavailable();
    if (problem !== undefined) throw new Error(`gVisor cannot run here: ${problem}.`);
    return { pool: this.#opened().pool, overheadBytes, placeBytes: kernelBytes, limitOf };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    this.#isClosed = true;
    await open?.pool[Symbol.asyncDispose]();
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
    const cleanUp = (pid: number): Promise<void> => this.#remove(bundle, pid);
    const spec = { ...this.#command(bundle, groups), groups, frames: pythonFrames, closed: false, cleanUp };
    this.#open = { bundle, groups, pool: new ChildPool(spec, { warm, most, startsAtOnce: 2 }) };
    return this.#open;
  }

  /** Enters its control groups, then starts gVisor. Both are named after the process, whose number `exec` keeps. */
  #command(bundle: Bundle, groups: Groups): { readonly command: string; readonly args: readonly string[] } {
    const script = `exec ${setpriv} --pdeathsig KILL "$1" --root "$2" ${flags.join(" ")} run --bundle "$3" "postern-$$"`;
    return groups.commandInside("/bin/sh", ["-c", script, "sh", this.#runsc ?? "", bundle.state, bundle.folder]);
  }

  async #probe(): Promise<string | undefined> {
    if (process.platform !== "linux") return "gVisor needs Linux";
    if (this.#runsc === undefined) return "`runsc` is not installed (apt-get install runsc, or gvisor.dev)";
    if (this.#python === undefined) return "`/usr/bin/python3` is not installed (apt-get install python3)";
    if (!existsSync(setpriv)) return `\`${setpriv}\` is not installed (apt-get install util-linux)`;
    if (process.getuid?.() !== 0) return "gVisor makes containers as root only";
    using groups = Groups.open(`postern-runsc-probe-${process.pid}`);
    if (groups === undefined) return noGroups;
    using bundle = makeBundle(this.#python, probeOf("gvisor"));
    const { command, args } = this.#command(bundle, groups);
    const running = run(command, [...args], { env: {}, timeout: runMs });
    const pid = running.child.pid ?? 0;
    try {
      await running;
      return undefined;
    } catch (error) {
      return `gVisor cannot isolate here (${messageOf(error).split("\n").slice(1, 3).join(" ").slice(0, 200)})`;
    } finally {
      await this.#remove(bundle, pid);
      groups.remove(pid);
    }
  }

  /** A container outlives the process that started it. */
  async #remove({ state }: Bundle, pid: number): Promise<void> {
    const words = ["--root", state, "delete", "--force", `postern-${pid}`];
    await run(this.#runsc ?? "", words, { env: {}, timeout: runMs }).catch(() => undefined); // it has ended by itself
  }
}

const noGroups = "its processes and memory cannot be bounded: no control group can be made";

/** gVisor reports a signal as 128 plus its number. */
function limitOf(message: string): "cpu" | undefined {
  return /code (?:152|137)\b|SIGXCPU/.test(message) ? "cpu" : undefined;
}

/** The OCI bundle from which gVisor makes each container of a driver. */
interface Bundle extends Disposable {
  readonly folder: string;
  /** The folder in which gVisor keeps the state of its containers. */
  readonly state: string;
}

/** Its root contains only the interpreter and its libraries, read-only. Two folders in memory can be written. */
function makeBundle(python: string, program: string): Bundle {
  const folder = temporaryFolder("runsc");
  const state = join(folder, "state");
  makeOwnFolder(state);
  const root = join(folder, "rootfs");
  for (const path of ["", "usr", "usr/lib", "usr/bin", "lib", "lib64", "tmp", "workspace", "proc", "dev"])
    mkdirSync(join(root, path));
  for (const path of [folder, root, join(root, "usr")]) chmodSync(path, 0o755); // the container's user must enter them
  writeFileSync(join(folder, "config.json"), JSON.stringify(specFor(realpathSync(python), program)));
  return { folder, state, [Symbol.dispose]: () => removeTemporaryFolder(folder) };
}

function specFor(python: string, program: string): object {
  const none = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] };
  return {
    ociVersion: "1.0.0",
    process: {
      terminal: false,
      user: { uid: nobodyId, gid: nobodyId },
      args: [python, ...pythonFlags, "-c", program],
      env: Object.entries(pythonEnvironment).map((pair) => pair.join("=")),
      cwd: "/workspace",
      capabilities: none,
      noNewPrivileges: true,
    },
    root: { path: "rootfs", readonly: true },
    hostname: "postern",
    mounts: [
      ...["/usr/lib", "/lib", "/lib64", join(dirname(dirname(python)), "lib")]
        .filter((path, n, all) => all.indexOf(path) === n)
        .flatMap(readOnly),
      ...readOnly(python),
      ...readOnly(timeZones),
      ...["/tmp", "/workspace"].map((destination) => ({
        destination,
        type: "tmpfs",
        source: "tmpfs",
        options: [`size=${folderBytes}`, "mode=1777"],
      })),
    ],
    linux: { namespaces: ["pid", "network", "ipc", "uts", "mount"].map((type) => ({ type })) },
  };
}

/** Returns no mount for a path that the host does not have. */
function readOnly(path: string): readonly object[] {
  try {
    return [{ destination: path, type: "bind", source: realpathSync(path), options: ["ro", "rbind"] }];
  } catch {
    return [];
  }
}
