/** Prepares a script for the engine: removes types and keeps lines. It runs in the child process, because sources are untrusted. */
import { SourceMap, stripTypeScriptTypes } from "node:module";

export interface ScriptSource {
  readonly code: string;
  /** Maps a line of `code` to the source's line, if they differ. */
  readonly lines?: readonly number[];
}

/** @throws Error with the parser's message when it is no TypeScript */
export function withoutTypes(source: string): ScriptSource {
  try {
    return { code: stripTypeScriptTypes(source, { mode: "strip" }) };
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    return transformed(source); // `enum`, `namespace`: they are more than types
  }
}

/** Makes a top-level `return` valid. */
export function asFunction(code: string): string {
  return `(async () => {${code}\n})()`;
}

const answer = "$default";

/**
 * Rewrites a module as a script whose value is the default export. Lines and columns stay the same. Returns undefined unless
 * there is exactly one default export.
 */
export function fromModule(source: string): string | undefined {
  const found = [...source.matchAll(/^export[ \t]+default[ \t]+/gm)];
  const [only] = found;
  if (only === undefined || found.length > 1) return undefined;
  const [words] = only;
  const after = source.slice(only.index + words.length);
  const [, declared] =
    /^(?:async[ \t]+)?(?:function\b[ \t]*\*?|class\b)[ \t]*(?!extends\b)([A-Za-z_$][\w$]*)/.exec(after) ?? [];
  const instead = declared === undefined ? `const ${answer}=` : "";
  const code = `${plainly(source.slice(0, only.index))}${instead.padEnd(words.length)}${plainly(after)}`;
  return `${code}\n;${declared ?? answer}`;
}

/** Removes other `export` keywords. */
function plainly(code: string): string {
  return code.replace(/^export(?=[ \t]+(?:async|function|class|const|let|var|type|interface|enum)\b)/gm, "      ");
}

const opening = asFunction("").indexOf("\n");
const longestShown = 120;

/** Describes a syntax error with its place and line. */
export function syntaxProblem(error: Error, written: string): { readonly message: string; readonly line?: number } {
  const [, place] =
    /\bscript:(\d+(?::\d+)?)/.exec(error.stack ?? "") ?? /^[^\n]*?:(\d+)\n/.exec(error.stack ?? "") ?? [];
  const pointer = /^(?:[^\n]*\n){2,5}?( *)\^/.exec(error.stack ?? "")?.[1]?.length;
  const [line = 0, engineColumn] = place?.split(":").map(Number) ?? [];
  const found = written.split("\n")[line - 1];
  const problem = `SyntaxError: ${error.message.slice(0, 300)}`;
  if (found === undefined) return { message: problem };
  const shifted = pointer === undefined ? engineColumn : pointer + 1;
  const column = shifted === undefined ? undefined : shifted - (line === 1 ? opening : 0);
  const at = column === undefined || column < 1 || column > found.length + 1 ? "" : ` at column ${column}`;
  return { message: `${problem}${at} in \`${found.trim().slice(0, longestShown)}\`.${moduleHint(found)}`, line };
}

function moduleHint(line: string): string {
  if (/^\s*import\b/.test(line))
    return " A script imports nothing: take out the import; tools, files, artifacts, help and console are there already.";
  if (/^\s*export\b/.test(line))
    return " A script exports nothing but one `export default`, its answer: take out `export`; or return, or end with, what it answers.";
  return "";
}

function transformed(source: string): ScriptSource {
  const mapped = stripTypeScriptTypes(source, { mode: "transform", sourceMap: true });
  const [, encoded] = /\n\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/.exec(mapped) ?? [];
  if (encoded === undefined) return { code: mapped };
  const map = new SourceMap(JSON.parse(Buffer.from(encoded, "base64").toString("utf8")));
  const code = mapped.slice(0, mapped.lastIndexOf("\n//# sourceMappingURL="));
  const lines = code.split("\n").map((text, line) => {
    const found = map.findEntry(line, Math.max(0, text.search(/\S/)));
    return "originalLine" in found ? found.originalLine + 1 : line + 1;
  });
  return { code, lines };
}

function isUnsupported(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX";
}
