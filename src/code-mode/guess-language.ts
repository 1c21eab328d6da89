import type { ScriptProgram } from "../engines/sandbox.ts";

const pythonMarks: readonly RegExp[] = [
  /^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(/m,
  /^[ \t]*(?:if|for|while|with|try|elif|else|except|class|match)\b[^{\n:]*:[^{\n]*$/m,
  /^[ \t]*(?:import[ \t]+\w+(?:\.\w+)*(?:[ \t]+as[ \t]+\w+)?[ \t]*$|from[ \t]+[\w.]+[ \t]+import\b)/m,
  /\b(?:None|True|False|elif|lambda|not in)\b/,
  /(?<![\w.])print\(/,
  /\bf"[^"\n]*\{|\bf'[^'\n]*\{/,
  /(?<!\b(?:if|while|for|switch|function) ?)(?<=\w)\((?:[^(){}=;]*,)?\s*[A-Za-z_]\w*\s*=(?![=>])/, // tools.echo(text="a")
];
const javascriptMarks: readonly RegExp[] = [
  /^[ \t]*(?:const|let|var)\s+[\w{[]/m,
  /=>|===|!==|&&|\|\||\?\?/,
  /\bfunction\b|\bnew\s+[A-Z]/,
  /\bconsole\.\w+\(/,
  /;[ \t]*(?:\/\/.*)?$/m,
  /\(\{/,
  /[`]/,
];
const typeMarks =
  /^[ \t]*(?:interface|type|enum)\s+\w+|\b(?:const|let)\s+\w+\s*:\s*\w|\)\s*:\s*(?:Promise|string|number|void|boolean)\b|\bas\s+(?:const|string|number|unknown)\b/m;

/** For callers that do not say which language a script is in. Whoever knows says it. */
export function guessLanguage(source: string): ScriptProgram["language"] {
  const score = (marks: readonly RegExp[]): number => marks.filter((mark) => mark.test(source)).length;
  if (score(pythonMarks) > score(javascriptMarks)) return "python";
  return typeMarks.test(source) ? "typescript" : "javascript";
}
