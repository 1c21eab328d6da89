/** Lines of a policy's text and of its file. */
import type { PolicyTextView } from "@postern/core/contract";

export interface Mistake {
  /** Of the file, from 1. Undefined: of the text as a whole. */
  readonly line: number | undefined;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** As many lines before it as in the file: rules and mistakes are named by their line. */
export function asInFile(
  { name, line }: PolicyTextView,
  text: string,
): { readonly name: string; readonly text: string } {
  return { name, text: "\n".repeat(line - 1) + text };
}

/** `postern.yaml:12:3 policy.rules: …`; the place may be missing. */
export function mistakeOf(sentence: string, file: string, severity: Mistake["severity"]): Mistake {
  const text = sentence.trim();
  const inFile = text.startsWith(`${file}:`) ? text.slice(file.length + 1) : "";
  const [, line, message = text] = /^(\d+)(?::\d+)?:?\s+(.*)$/s.exec(inFile) ?? [];
  return { line: line === undefined ? undefined : Number(line), message, severity };
}
