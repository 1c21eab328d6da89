/** Python of this machine, isolated by bubblewrap. Scripts have the whole language. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Bubblewrap, firstOf, type Groups, ownNamespaces, type Startable } from "@postern/core/system";
import { ChildPool } from "../child/pool.ts";
import { cpythonProgram, probeProgram, pythonEnvironment, pythonFlags, timeZones } from "./prelude/prelude.ts";
import { folderBytes, PythonDriver, type PythonOptions, type PythonSandboxes, pythonFrames } from "./python-driver.ts";

const mostProcesses = 32;
/** Address space of the interpreter and its libraries, before a script has any. */
const overheadBytes = 96 * 1024 * 1024;

interface Isolation extends Startable {
  /** The control groups that it enters, if Postern is root. */
  readonly groups: Groups | undefined;
}

/** Checked once a process, because the machine does not change meanwhile. */
let isolation: Promise<Isolation | { readonly missing: string }> | undefined;

export class CpythonDriver extends PythonDriver {
  readonly name = "cpython";
  readonly capabilities = { language: "python", durability: "replay", isolation: "kernel", parallel: true } as const;
  readonly engine = "cpython-bubblewrap-1";
  readonly #options: PythonOptions;
  #pool: ChildPool | undefined;

  constructor(options: PythonOptions = {}) {
    super(options);
    this.#options = options;
  }

  async unavailable(): Promise<string | undefined> {
    isolation ??= isolate();
    const found = await isolation;
    return "missing" in found ? found.missing : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  protected async sandboxes(): Promise<PythonSandboxes> {
    isolation ??= isolate();
    const found = await isolation;
    if ("missing" in found) throw new Error(`CPython cannot run here: ${found.missing}.`);
    const { warm = 1, most = 32 } = this.#options;
    this.#pool ??= new ChildPool({ ...found, frames: pythonFrames, closed: false }, { warm, most, startsAtOnce: 2 });
    return { pool: this.#pool, overheadBytes, placeBytes: 2 * folderBytes, limitOf };
  }
}

/** Finds out how CPython is started here, or why it cannot be. */
async function isolate(): Promise<Isolation | { readonly missing: string }> {
  const bubblewrap = Bubblewrap.find({ name: "postern-python", mostProcesses });
  if ("missing" in bubblewrap) return bubblewrap;
  const python = firstOf("/usr/bin/python3", "/usr/local/bin/python3");
  if (python === undefined) return { missing: "`/usr/bin/python3` is not installed (apt-get install python3)" };
  const walls = [...wallsAround(python), realpathSync(python), ...pythonFlags, "-c"];
  const problem = await bubblewrap.problem([...walls, probeProgram]);
  if (problem !== undefined) return { missing: problem };
  return { ...bubblewrap.around([...walls, cpythonProgram]), groups: bubblewrap.groups };
}

function wallsAround(python: string): readonly string[] {
  const prefix = dirname(dirname(realpathSync(python)));
  const libraries = [...new Set(["/usr/lib", "/usr/lib64", "/lib", "/lib64", join(prefix, "lib")])];
  const settings = Object.entries(pythonEnvironment).flatMap((pair) => ["--setenv", ...pair]);
  return [
    ...ownNamespaces,
    ...settings,
    ...libraries.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--ro-bind", realpathSync(python), realpathSync(python), "--dev-bind", "/dev/null", "/dev/null"],
    ...["--ro-bind-try", timeZones, timeZones],
    ...["/tmp", "/workspace"].flatMap((path) => ["--size", `${folderBytes}`, "--tmpfs", path]),
    ...["--chdir", "/workspace", "--"],
  ];
}

/** bubblewrap reports the signal that ended its program as 128 plus the number. */
function limitOf(message: string): "cpu" | "memory" | undefined {
  if (/code 134\b|SIGABRT/.test(message)) return "memory"; // Python aborts if it has no memory left to raise an error
  return /code (?:152|137)\b|SIGXCPU/.test(message) ? "cpu" : undefined; // the soft limit, and the hard one (SIGKILL)
}
