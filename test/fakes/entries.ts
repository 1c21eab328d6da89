import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packages, root } from "../../scripts/packages.ts";

export interface PackageEntry {
  /** The import path: `postern/policy`, `@postern/core`. */
  readonly name: string;
  /** Its source file. */
  readonly source: string;
}

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly "postern-source": string }>>;
}

/** The entries of all packages. */
export const entries: readonly PackageEntry[] = packages.flatMap((folder) => {
  const at = join(root, "packages", folder);
  const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Manifest; // our own
  return Object.entries(manifest.exports).flatMap(([subpath, to]) =>
    typeof to === "string"
      ? []
      : [{ name: `${manifest.name}${subpath.slice(1)}`, source: join(at, to["postern-source"]) }],
  );
});
