/**
 * `node scripts/bundle-children.ts`, a part of `npm run build`: the programs of the sandboxes' processes, each in one file
 * with all it needs. A process that loads one file starts twice as fast, and may read nothing else.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const children: readonly string[] = ["javascript/inside-quickjs"];

const external = [/^node:/];

export async function bundleChild(input: string, file: string): Promise<void> {
  const plugins = [{ name: "builtins", renderChunk: withoutFacades }];
  const bundle = await rolldown({ input, external, platform: "node", plugins });
  await bundle.write({ file, format: "esm", banner: licences, codeSplitting: false, minify: true });
  await bundle.close();
}

const imported = /^import\s*\{([^}]*)\}\s*from\s*"(node:[\w/]+)";/gm;

/** What takes a third of a start to load, and no script needs before it is frozen. */
const seldom: ReadonlySet<string> = new Set(["node:crypto", "node:zlib"]);

/**
 * Node's own modules, taken as they are. An `import` reads all that such a module exports, also what it would load only when
 * it is wanted (`fs.promises`, `crypto.webcrypto`): half as long again as Node takes to start.
 */
function withoutFacades(code: string): string {
  const taken = code.replaceAll(imported, (_all, list: string, id: string) => {
    const names = list.split(",").map((each) => each.trim().split(" as "));
    if (!seldom.has(id))
      return `const {${names.map(([name, as]) => `${name}: ${as ?? name}`).join()}} = process.getBuiltinModule("${id}");`;
    const module = process.getBuiltinModule(id) as object | undefined;
    return names.map(([name = "", as = name]) => lateFunction(id, name, as, module)).join("\n");
  });
  const left = /^import[^;]*"node:[^;]*;/m.exec(taken);
  if (left !== null) throw new Error(`A child imports what cannot be taken by its name: \`${left[0]}\``);
  return taken;
}

/** Loads its module with its first call. */
function lateFunction(id: string, name: string, as: string, module: object = {}): string {
  if (typeof Reflect.get(module, name) !== "function")
    throw new Error(`\`${name}\` of ${id} is no function to call late.`);
  return `const ${as} = (...given) => process.getBuiltinModule("${id}").${name}(...given);`;
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
