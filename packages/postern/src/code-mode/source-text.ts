/** What the text of a script says before and after it runs: its fences, and functions that nothing calls. */
import { defined } from "@postern/core";
import type { ScriptProgram } from "@postern/core/sandbox";

export type ScriptLanguage = ScriptProgram["language"];

/** The words after a fence that name a language of scripts. */
const fenceWords: ReadonlyMap<string, ScriptLanguage> = new Map([
  ...["js", "javascript", "jsx", "mjs"].map((word) => [word, "javascript"] as const),
  ...["ts", "typescript", "tsx", "mts"].map((word) => [word, "typescript"] as const),
  ...["py", "python", "python3"].map((word) => [word, "python"] as const),
]);

export interface UnfencedScript {
  readonly source: string;
  /** The language that the fence names. */
  readonly language?: ScriptLanguage;
}

/**
 * Takes one pair of Markdown fences from around a script, and one line of prose before it. The lines stay empty, so that
 * line numbers hold. With its fences no text runs here, so nothing that would run is lost.
 */
export function withoutFences(source: string): UnfencedScript {
  const found = /^\s*(?:[^\n`]*:[ \t]*\r?\n\s*)?(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*\r?\n/.exec(source);
  if (found === null) return { source };
  const [opening, fence = "", word = ""] = found;
  const closing = source.slice(opening.length).trimEnd();
  if (!closing.endsWith(`\n${fence}`)) return { source };
  const body = closing.slice(0, -fence.length);
  const isOnlyPair = !body.split("\n").some((line) => line.startsWith(fence));
  if (!isOnlyPair) return { source };
  const language = fenceWords.get(word.toLowerCase());
  return { source: opening.replaceAll(/[^\n]/g, "") + body, ...defined({ language }) };
}

const definitions: Readonly<Record<"javascript" | "python", RegExp>> = {
  javascript:
    /^[ \t]*(?:export[ \t]+)?(?:async[ \t]+)?function[ \t]*\*?[ \t]*([A-Za-z_$][\w$]*)|^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+([A-Za-z_$][\w$]*)[^=\n]*=[ \t]*(?:async\b[ \t]*)?(?:function\b|\([^()\n]*\)[^=\n]*=>|[A-Za-z_$][\w$]*[ \t]*=>)/gm,
  python: /^(?:async[ \t]+)?def[ \t]+([^\W\d]\w*)/gm,
};

/** The first function of a script whose name is nowhere else in its source. */
export function uncalledFunction({ language, source }: Pick<ScriptProgram, "language" | "source">): string | undefined {
  const names = source.matchAll(definitions[language === "python" ? "python" : "javascript"]);
  for (const [, declared, assigned] of names) {
    const name = declared ?? assigned ?? "";
    const uses = source.split(/[^\w$]+/).filter((word) => word === name);
    if (uses.length === 1) return name;
  }
  return undefined;
}
