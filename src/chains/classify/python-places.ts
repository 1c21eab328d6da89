/** Where Python reads and writes: harmless is a place that stands in the code and is inside the workspace. */
import { lineAt, mostReasons } from "./code-marks.ts";
import type { PythonText } from "./code-text.ts";

type Read = Extract<PythonText, { code: string }>;

interface Place {
  /** Up to where the place is named. */
  readonly call: RegExp;
  readonly does: "reads" | "writes";
}

const places: readonly Place[] = [
  {
    call: /\.\s*(?:to_(?:csv|excel|json|string|parquet|html|feather|hdf|sql|stata|xml|markdown|latex|orc)|savefig|imsave|savez?\w*|tofile|write_(?:csv|json|parquet|excel|ipc|ndjson|html|image|gml|graphml))\s*\(\s*/g,
    does: "writes",
  },
  {
    call: /\.\s*(?:read_(?:csv|json|excel|parquet|table|fwf|feather|orc|stata|xml|ndjson)|scan_(?:csv|parquet|ndjson)|loadtxt|genfromtxt|fromfile|imread|read_edgelist|read_gml|read_graphml)\s*\(\s*/g,
    does: "reads",
  },
  { call: /(?<!\bjson\s*)\.\s*load\s*\(\s*/g, does: "reads" },
];

/** What else takes a place, or a source, and cannot be seen through. */
const unseen: readonly (readonly [RegExp, string])[] = [
  [
    /\bread_(?!csv|json|excel|parquet|table|fwf|feather|orc|stata|xml|ndjson|text|bytes|edgelist|gml|graphml)\w+\s*\(/g,
    "reads a source that is not looked into",
  ],
  [
    /\bto_(?:pickle|gbq|clipboard)\b|\bExcelWriter\b|\bHDFStore\b|\bFileIO\b|\bFileHandler\b/g,
    "writes in a way that is not looked into",
  ],
  [/(?<![\w.])open\b(?!\s*\()/g, "hands `open` on"],
  [/\.\s*(?:write_text|write_bytes|read_text|read_bytes|iterdir|rglob)\b(?!\s*\()/g, "hands a way to files on"],
  [/\bPath\s*\.\s*(?!cwd|home)\w+/g, "takes a path's method by itself"],
];

/** Of a path; of anything else they are its own. */
const unseenOfPaths: typeof unseen = [
  [/\.\s*(?:copy|copy_into|move|move_into|walk)\s*\((?!\s*\))/g, "moves, copies or walks through files"],
  [/\.\s*(?:open|touch|mkdir|rename|replace|glob)\b(?!\s*[(=])/g, "hands a way to files on"],
];

/** A condition that names columns and values is data; one that calls, or reaches beyond `@name`, is code. */
const codeInQuery = /@\s*\w+\s*[.[(]|__|\b(?!(?:and|or|not|in)\b)\w+\s*\(/;

/** `Path("here").write_text(…)`; of any other path nobody knows where it leads. */
const pathCall =
  /(\bPath\s*\(\s*([rbuRBU]*)["'][^"'\n]*["']\s*\)\s*)?\.\s*(open|write_text|write_bytes|read_text|read_bytes|touch|mkdir|iterdir|glob|rglob|rename|replace)\s*\(\s*/g;

export function pythonPlaces(read: Read, workspace: readonly string[]): readonly string[] {
  const { code } = read;
  const reasons: string[] = [];
  const judge = (at: number, does: Place["does"], path: string | undefined): void => {
    if (reasons.length >= mostReasons) return;
    const problem = path === undefined ? unknown(does) : outside(path, does, workspace);
    if (problem !== undefined) reasons.push(`${lineAt(code, at)}: ${problem}`);
  };
  for (const { call, does } of places)
    for (const { 0: text, index } of code.matchAll(call)) {
      const from = index + text.length;
      if (does === "writes" && givesBack(code.slice(from))) continue;
      if (does === "reads" && /^(?:io\s*\.\s*)?(?:StringIO|BytesIO)\s*\(/.test(code.slice(from))) continue;
      judge(index, does, textAt(read, from));
    }
  for (const { 0: text, index } of code.matchAll(/(?<![\w.])open\s*\(\s*/g)) {
    const from = index + text.length;
    judge(index, opensToWrite(read, from) ? "writes" : "reads", textAt(read, from));
  }
  for (const found of code.matchAll(pathCall)) {
    const [text, path, marks = "", name = ""] = found;
    const from = found.index + text.length;
    if ((name === "rename" || name === "replace") && !isMove(code, from, name)) continue;
    if (/glob/.test(name) && !/\bpathlib\b/.test(code)) continue;
    const literal = path === undefined ? undefined : textAt(read, found.index + path.search(/["']/) - marks.length);
    const isReading = name.startsWith("read_") || name === "iterdir" || name.endsWith("glob");
    const reads = name === "open" ? !opensToWrite(read, from, "first") : isReading;
    judge(found.index, reads ? "reads" : "writes", literal);
  }
  for (const { 0: text, index } of code.matchAll(/\.\s*query\s*\(\s*/g)) {
    const condition = textAt(read, index + text.length);
    if (reasons.length >= mostReasons) break;
    if (condition === undefined || codeInQuery.test(condition)) reasons.push(`${lineAt(code, index)}: runs a query`);
  }
  for (const [pattern, says] of /\bpathlib\b/.test(code) ? [...unseen, ...unseenOfPaths] : unseen)
    for (const { index } of code.matchAll(pattern))
      if (reasons.length < mostReasons) reasons.push(`${lineAt(code, index)}: ${says}`);
  return reasons;
}

/** No place is named: the text is the answer. */
function givesBack(rest: string): boolean {
  const inside = rest.slice(0, closing(rest));
  if (inside.length >= longestCall) return false;
  const named = /\b(?:path|path_or_buf|path_or_buffer|buf|file|io|fname|filename|where|con|name|excel_writer)\s*=|\*/;
  return inside.trim() === "" || (/^\s*\w+\s*=(?!=)/.test(inside) && !named.test(inside));
}

function unknown(does: Place["does"]): string {
  return `${does} ${does === "writes" ? "to" : "from"} a place that is only known when it runs`;
}

function outside(path: string, does: Place["does"], workspace: readonly string[]): string | undefined {
  return isInside(path, workspace) ? undefined : `${does} \`${path.slice(0, 80)}\` outside the workspace`;
}

/** A text frame has a `rename(columns=…)`, a text a `replace(a, b)`; a path has both with one place to go to. */
function isMove(code: string, from: number, name: string): boolean {
  if (!/\bpathlib\b/.test(code)) return false;
  const inside = code.slice(from, from + closing(code.slice(from)));
  if (inside.length >= longestCall) return true;
  if (name === "rename") return !/^\s*\w+\s*=(?!=)/.test(inside);
  return !inside.includes(",");
}

/** The text that stands there; undefined where something else does, or more than one text. */
function textAt({ code, strings }: Read, at: number): string | undefined {
  const rest = code.slice(at);
  const named =
    /^(?:path|file|buf|expr|path_or_buf|path_or_buffer|filepath_or_buffer|io|fname|filename)\s*=\s*/.exec(rest)?.[0] ??
    "";
  const skipped = named.length + (/^\s*[rbuRBU]*/.exec(rest.slice(named.length))?.[0].length ?? 0);
  const text = strings.get(at + skipped);
  if (text === undefined) return undefined;
  const quoted = /^(?:"""|'''|"|').*?(?:"""|'''|"|')\s*/s.exec(code.slice(at + skipped))?.[0].length ?? 0;
  return /^[,)]/.test(code.slice(at + skipped + quoted)) ? text : undefined; // a text that something is added to is another one
}

/** A mode that is not a plain reading one; one that cannot be seen counts as writing. */
function opensToWrite({ code, strings }: Read, at: number, place: "first" | "second" = "second"): boolean {
  const rest = code.slice(at);
  const inside = rest.slice(0, closing(rest));
  if (inside.length >= longestCall) return true;
  const named = /\bmode\s*=\s*/.exec(inside);
  const comma = inside.indexOf(",");
  const second = comma < 0 ? inside.length : comma + 1;
  const from = named === null ? (place === "first" ? 0 : second) : named.index + named[0].length;
  const said = inside.slice(from);
  if (said.trim() === "" || (named === null && /^\s*\w+\s*=/.test(said))) return false;
  const mode = strings.get(at + from + (/^\s*/.exec(said)?.[0].length ?? 0));
  return mode === undefined || /[wax+]/.test(mode);
}

function closing(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length && i < longestCall; i += 1) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")" && depth-- === 0) return i;
  }
  return longestCall;
}

/** Of a longer one nobody sees where it leads. */
const longestCall = 4_000;

function isInside(path: string, workspace: readonly string[]): boolean {
  if (path.split("/").includes("..") || path.startsWith("~") || /^[^/]*:|\\/.test(path)) return false; // `file:/etc`, `C:`
  return !path.startsWith("/") || workspace.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
