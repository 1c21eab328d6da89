import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string>>;
}; // our own

export interface PackageEntry {
  /** The import path: `postern/policy`. */
  readonly name: string;
  /** Its source file in `src`. */
  readonly source: string;
}

/** The entry and the subpaths of the package. */
export const entries: readonly PackageEntry[] = Object.entries(manifest.exports)
  .filter(([, built]) => built.endsWith(".js"))
  .map(([subpath, built]) => ({
    name: `postern${subpath.slice(1)}`,
    source: join(root, built.replace("./dist/", "src/").replace(/\.js$/, ".ts")),
  }));
