import type { Program } from "./sandbox.ts";

const pythonMarks: readonly RegExp[] = [
  /^\s*(?:async\s+)?def\s+\w+\s*\(.*\).*:\s*(?:#.*)?$/m,
  /^\s*(?:if|for|while|with|try|elif|else|except|class|match)\b[^{]*:\s*(?:#.*)?$/m,
  /^\s*(?:import\s+\w+(?:\.\w+)*(?:\s+as\s+\w+)?\s*$|from\s+[\w.]+\s+import\b)/m,
  /\b(?:None|True|False|elif|lambda|not in)\b/,
  /(?<![\w.])print\(/,
  /\bf"[^"\n]*\{|\bf'[^'\n]*\{/,
];
const javascriptMarks: readonly RegExp[] = [
  /^\s*(?:const|let|var)\s+[\w{[]/m,
  /=>|===|!==|&&|\|\||\?\?/,
  /\bfunction\b|\bnew\s+[A-Z]/,
  /\bconsole\.\w+\(/,
  /;\s*(?:\/\/.*)?$/m,
  /\(\{/,
  /[`]/,
];
const typeMarks =
  /^\s*(?:interface|type|enum)\s+\w+|\b(?:const|let)\s+\w+\s*:\s*\w|\)\s*:\s*(?:Promise|string|number|void|boolean)\b|\bas\s+(?:const|string|number|unknown)\b/m;

/** For callers that do not say which language a script is in. Whoever knows says it. */
export function guessLanguage(source: string): Program["language"] {
  const score = (marks: readonly RegExp[]): number => marks.filter((mark) => mark.test(source)).length;
  if (score(pythonMarks) > score(javascriptMarks)) return "python";
  return typeMarks.test(source) ? "typescript" : "javascript";
}
