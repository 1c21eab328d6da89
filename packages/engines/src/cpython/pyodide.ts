/** Full CPython as WebAssembly, in a Deno process without permissions. Slow to start, so one is kept warm. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { devNull } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { programBeside } from "../child/fences.ts";
import { ChildPool } from "../child/pool.ts";
import { pyodideProgram, timeZones } from "./prelude/prelude.ts";
import { PythonDriver, type PythonOptions, type PythonSandboxes, pythonFrames } from "./python-driver.ts";

/** Deno, V8's code of the interpreter, and the interpreter's own memory. */
const overheadBytes = 448 * 1024 * 1024;
const heapMegabytes = 256;
/** Compiling ten megabytes of WebAssembly on a busy machine. */
const startMs = 120_000;

export class PyodideDriver extends PythonDriver {
  readonly name = "pyodide";
  readonly capabilities = { language: "python", durability: "replay", isolation: "process", parallel: true } as const;
  readonly engine: string;
  readonly #options: PythonOptions;
  readonly #folder = packageFolder("pyodide");
  readonly #deno = findDeno();
  #pool: ChildPool | undefined;

  constructor(options: PythonOptions = {}) {
    super(options);
    this.#options = options;
    this.engine = `pyodide/${this.#folder === undefined ? "none" : versionIn(this.#folder)}`;
  }

  async unavailable(): Promise<string | undefined> {
    if (this.#folder === undefined) return "the package `pyodide` is not installed (npm install pyodide)";
    return this.#deno === undefined ? "`deno` is not installed (npm install deno)" : undefined;
  }

  warm(): void {
    this.#opened().warm();
  }

  protected async sandboxes(): Promise<PythonSandboxes> {
    return { pool: this.#opened(), overheadBytes };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  #opened(): ChildPool {
    if (this.#pool !== undefined) return this.#pool;
    if (this.#folder === undefined || this.#deno === undefined) throw new Error("Pyodide or Deno is not installed.");
    const { warm = 1, most = 8 } = this.#options;
    const zones = existsSync(timeZones) ? [realpathSync(timeZones)] : [];
    const hello = { pyodide: this.#folder, program: pyodideProgram, zones: zones[0] ?? null };
    const args = denoArguments(programBeside(import.meta.url, "inside-pyodide"), [this.#folder, ...zones]);
    const program = { command: this.#deno, args, environment: denoEnvironment };
    this.#pool = new ChildPool(
      { ...program, frames: pythonFrames, hello, closed: true, startMs },
      { warm, most, startsAtOnce: 1 },
    );
    return this.#pool;
  }
}

function versionIn(folder: string): string {
  const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return String(version);
}

const platforms: ReadonlyMap<string, string> = new Map([
  ["linux-x64", "@deno/linux-x64-glibc"],
  ["linux-arm64", "@deno/linux-arm64-glibc"],
  ["darwin-x64", "@deno/darwin-x64"],
  ["darwin-arm64", "@deno/darwin-arm64"],
  ["win32-x64", "@deno/win32-x64"],
]);

/** The program is in a package of its platform, which the package `deno` installs; its install script is not needed. */
function findDeno(): string | undefined {
  const name = process.platform === "win32" ? "deno.exe" : "deno";
  const carried = packageFolder("deno");
  const platform = platforms.get(`${process.platform}-${process.arch}`);
  const folder = carried === undefined || platform === undefined ? undefined : packageFolder(platform, carried);
  const paths = (process.env["PATH"] ?? "").split(delimiter).filter((path) => path !== "");
  const places = [...(folder === undefined ? [] : [folder]), ...paths].map((path) => join(path, name));
  const found = places.find((path) => existsSync(path) && !path.includes(`${join("node_modules", ".bin")}`));
  return found === undefined ? undefined : realpathSync(found);
}

/** The folder of a package that this file, or another package, can import. Returns undefined when it is not installed. */
function packageFolder(name: string, from?: string): string | undefined {
  try {
    const seen = createRequire(from === undefined ? import.meta.url : join(from, "package.json"));
    return realpathSync(dirname(seen.resolve(`${name}/package.json`)));
  } catch {
    return undefined;
  }
}

/** Deno enforces below JavaScript: no network, no environment, no programs, and no files but these. */
function denoArguments(program: string, readable: readonly string[]): readonly string[] {
  return [
    ...["run", "--no-prompt", "--no-remote", "--no-npm", "--no-config", "--no-lock", "--no-check", "--no-code-cache"],
    `--allow-read=${readable.join(",")}`,
    ...["--deny-net", "--deny-env", "--deny-run", "--deny-ffi", "--deny-sys", "--deny-write", "--deny-import"],
    `--v8-flags=--max-old-space-size=${heapMegabytes}`,
    program,
  ];
}

/**
 * Deno writes compiled code to its folder at any time, and the kernel ends a closed-in process that writes to a file. No folder
 * can be below a device, so Deno keeps that code in memory.
 */
const denoEnvironment: Readonly<Record<string, string>> = {
  DENO_DIR: join(devNull, "none"),
  DENO_NO_UPDATE_CHECK: "1",
  NO_COLOR: "1",
};
