/** What Python calls: harmless is what is known, and what the code itself defines. */
import { lineAt, mostReasons, words } from "./code-marks.ts";
import { computing, isKnown, large, telling } from "./python-words.ts";

interface Imported {
  /** As the code calls it. */
  readonly as: string;
  readonly module: string;
  /** Undefined: the module itself. */
  readonly name: string | undefined;
  readonly at: number;
}

/** Modules through which others are reached. */
const behind: ReadonlySet<string> =
  words(`os sys io shutil socket codecs inspect modules platform threading tempfile linecache webbrowser tokenize builtins bltns
  warnings subprocess signal ssl traceback importlib posixpath genericpath nt ntpath gc weakref`);

export function pythonImports(code: string): readonly Imported[] {
  const statement = /(?:\bfrom\s+([.\w]+)\s+)?\bimport\b\s*(\([^)]*\)|[^\n;]*)/g;
  return [...code.matchAll(statement)].flatMap(({ 1: from, 2: names = "", index: at }) =>
    names
      .replaceAll(/[()]/g, "")
      .split(",")
      .map((one) => /^\s*([.\w*]+)(?:\s+as\s+(\w+))?/.exec(one))
      .filter((found) => found !== null)
      .map(([, name = "", as = name.split(".")[0] ?? ""]) =>
        from === undefined ? { as, module: name, name: undefined, at } : { as, module: from, name, at },
      ),
  );
}

/** Imports of what is not known to be harmless. */
export function strangers(code: string): readonly string[] {
  return pythonImports(code)
    .map((imported) => ({ what: strangeIn(imported), at: imported.at }))
    .filter(({ what }) => what !== undefined)
    .slice(0, mostReasons)
    .map(
      ({ what = "", at }) => `${lineAt(code, at)}: imports \`${what.slice(0, 80)}\`, which is not known to be harmless`,
    );
}

function strangeIn({ module, name }: Imported): string | undefined {
  if (!computing.has(module) && !large.has(module)) return module;
  if (name === undefined) return undefined;
  const isStrange =
    module === "sys" ||
    (module === "os" && name !== "path") ||
    name === "*" ||
    name.startsWith("_") ||
    behind.has(name) ||
    (large.has(module) && !isKnown(name) && !large.has(`${module}.${name}`));
  return isStrange ? `${module}.${name}` : undefined;
}

/** From its first name to before the next point. */
const dotted = /(?<![\w.)\]"'])([A-Za-z_]\w*)(?:\s*\.\s*[A-Za-z]\w*)*\s*$/;
const longestDotted = 120;

/** Calls of methods that are known neither as harmless nor as the code's own. */
export function unknownCalls(code: string): readonly string[] {
  const imported = pythonImports(code);
  const direct = new Set(imported.filter(({ module }) => computing.has(module)).map(({ as }) => as));
  for (const name of boundAnew(code)) direct.delete(name);
  const own = new Set([...code.matchAll(/\b(?:def|class)\s+(\w+)|\b(?:self|cls)\s*\.\s*(\w+)\s*=(?!=)/g)].map(ownName));
  const first = new Map<string, number>();
  for (const { 1: name = "", 2: opens, index } of code.matchAll(/\.\s*([A-Za-z_]\w*)(?:\s*(\())?/g)) {
    if (first.has(name)) continue;
    const [, root = ""] = dotted.exec(code.slice(Math.max(0, index - longestDotted), index)) ?? [];
    if (direct.has(root)) continue;
    const isOdd = opens === undefined ? telling.test(name) : !isKnown(name) && (telling.test(name) || !own.has(name));
    if (isOdd) first.set(name, index);
  }
  return [...first]
    .slice(0, mostReasons)
    .map(([name, at]) => `${lineAt(code, at)}: uses \`${name}\`, which is not known to be harmless`);
}

/** A name that was a module's, and may be anything now. */
export function boundAnew(code: string): readonly string[] {
  const bindings = [
    /(?:^|[;:])[ \t]*([\w*][\w*, \t]{0,200}?)(?::[^=\n]{1,100})?=(?!=)/gm,
    /\bfor\b([^:\n]{1,200}?)\bin\b/g,
    /\b(?:with|except)\b[^\n]{0,200}?\bas\s+(\w+)/g,
    /\blambda\b([^:\n]{0,200}):/g,
    /\b(\w+)\s*:=/g,
    /\bdef\s+\w+\s*\(([^)]{0,1000})\)/g,
  ];
  return bindings
    .flatMap((binding) => [...code.matchAll(binding)])
    .flatMap(({ 1: names = "" }) => [...names.matchAll(/(?<![\w:.[\]=]\s*)\w+/g)].map(([name]) => name));
}

function ownName({ 1: defined, 2: given }: RegExpExecArray): string {
  return defined ?? given ?? "";
}
