/**
 * `node scripts/bundle-children.ts`, a part of `npm run build`: the programs of the sandboxes' processes, each in one file
 * with all it needs. A process that loads one file starts twice as fast, and may read nothing else.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const children: readonly string[] = ["javascript/inside-quickjs", "python/monty/inside-monty"];

/** Packages with programs of the machine in them stay packages. */
const external = [/^node:/, /^@pydantic\/monty/];

export async function bundleChild(input: string, file: string): Promise<void> {
  const bundle = await rolldown({ input, external, platform: "node" });
  await bundle.write({ file, format: "esm", banner: licences, codeSplitting: false, minify: true });
  await bundle.close();
}

/** What is copied into the file comes with its licence. */
function licences({ modules }: { readonly modules: object }): string {
  if (!Object.keys(modules).some((path) => path.includes("quickjs-wasi"))) return "";
  const folder = dirname(dirname(createRequire(import.meta.url).resolve("quickjs-wasi")));
  return `/*! Includes quickjs-wasi.\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n*/`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = join(dirname(fileURLToPath(import.meta.url)), "..", "dist", "chains", "drivers");
  for (const name of children) await bundleChild(join(built, `${name}.js`), join(built, `${name}.js`));
}
