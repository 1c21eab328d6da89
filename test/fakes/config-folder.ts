import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../packages/postern/src/config/load.ts";
import type { Environment, Flags } from "../../packages/postern/src/config/overrides.ts";
import { ConfigProblems, problemLine } from "../../packages/postern/src/config/problem.ts";
import type { Settings } from "../../packages/postern/src/config/settings.ts";

interface More {
  readonly ending?: string;
  readonly flags?: Flags;
  readonly environment?: Environment;
}

/** A folder of configuration files for one test. */
export class ConfigFolder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "postern-config-"));
  #files = 0;

  load(text: string | Uint8Array, more: More = {}): Promise<Settings> {
    this.#files += 1;
    const config = `config-${this.#files}.${more.ending ?? "yaml"}`;
    writeFileSync(join(this.path, config), text);
    return this.named(config, more);
  }

  /** The files that exist in the folder already. */
  named(config: string | undefined, { flags, environment = {} }: More = {}): Promise<Settings> {
    return loadConfig({
      flags: { ...flags, ...(config !== undefined && { config }) },
      environment,
      folder: this.path,
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** Returns the problems as printed, with FILE for the file's name. */
export async function problemsOf(loading: Promise<unknown>): Promise<readonly string[]> {
  const error = await loading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigProblems)) throw new Error(`expected ConfigProblems, got ${String(error)}`);
  return error.problems.map((problem) => problemLine(problem).replace(/^config-\d+\.\w+/, "FILE"));
}
