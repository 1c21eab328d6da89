/** A script as the engine takes it: types taken out, lines where they were. Runs in the child: a parser too is given strange things. */
import { SourceMap, stripTypeScriptTypes } from "node:module";

export interface Source {
  readonly code: string;
  /** From a line of `code` to the line that was written, where they differ. */
  readonly lines?: readonly number[];
}

/** @throws Error with the parser's words when it is no TypeScript */
export function withoutTypes(source: string): Source {
  try {
    return { code: stripTypeScriptTypes(source, { mode: "strip" }) };
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    return transformed(source); // `enum`, `namespace`: they are more than types
  }
}

/** Top-level `return` is for functions; a script may use it all the same. */
export function asFunction(code: string): string {
  return `(async () => {${code}\n})()`;
}

function transformed(source: string): Source {
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
