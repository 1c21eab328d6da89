/**
 * `node scripts/bundle-children.ts`, a part of the build of `@postern/engines`. It bundles each program of a child process into one file,
 * because a child process may read nothing else, and copies the `.py` and `.js` files that run inside a sandbox.
 */
import { cpSync, globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { root } from "./packages.ts";

const children: readonly string[] = ["quickjs/inside-quickjs"];

const external = [/^node:/];

export async function bundleChild(input: string, file: string): Promise<void> {
  const plugins = [{ name: "builtins", renderChunk: withoutFacades }];
  const bundle = await rolldown({ input, external, platform: "node", plugins });
  await bundle.write({ file, format: "esm", banner: licence, codeSplitting: false, minify: true });
  await bundle.close();
}

const imported = /^import\s*\{([^}]*)\}\s*from\s*"(node:[\w/]+)";/gm;

/** Slow to load and used only when a script is frozen. */
const seldom: ReadonlySet<string> = new Set(["node:crypto", "node:zlib"]);

/** Replaces imports of Node's modules: an `import` reads every export, and so loads parts that are loaded on demand. */
function withoutFacades(code: string): string {
  const taken = code.replaceAll(imported, (_all, list: string, id: string) => {
    const names = list.split(",").map((each) => each.trim().split(" as "));
    if (!seldom.has(id))
      return `const {${names.map(([name, as]) => `${name}: ${as ?? name}`).join()}} = process.getBuiltinModule("${id}");`;
    const module = process.getBuiltinModule(id) as object | undefined;
    return names.map(([name = "", as = name]) => lateFunction(id, name, as, module)).join("\n");
  });
  const remaining = /^import[^;]*"node:[^;]*;/m.exec(taken);
  if (remaining !== null)
    throw new Error(`A child process imports a module of Node without naming what it uses: \`${remaining[0]}\``);
  return taken;
}

/** Loads its module with its first call. */
function lateFunction(id: string, name: string, as: string, module: object = {}): string {
  if (typeof Reflect.get(module, name) !== "function")
    throw new Error(`\`${name}\` of ${id} is no function to call late.`);
  return `const ${as} = (...given) => process.getBuiltinModule("${id}").${name}(...given);`;
}

/** The licence of the bundled engine. */
function licence({ modules }: { readonly modules: object }): string {
  if (!Object.keys(modules).some((path) => path.includes("quickjs-wasi"))) return "";
  const folder = dirname(dirname(createRequire(import.meta.url).resolve("quickjs-wasi")));
  return `/*! Includes quickjs-wasi.\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n*/`;
}

/** The files that drivers read when they are loaded; `tsc` leaves them behind. */
export function copySandboxSources(to: string): void {
  const cwd = join(engines, "src");
  for (const file of globSync("**/*.{py,js}", { cwd })) cpSync(join(cwd, file), join(to, file));
}

const engines = join(root, "packages", "engines");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = join(engines, "dist");
  copySandboxSources(built);
  for (const name of children) await bundleChild(join(built, `${name}.js`), join(built, `${name}.js`));
}
