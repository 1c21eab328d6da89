/**
 * What a piece of code would do, as far as its text tells (case 266): for tools that run code outside of a sandbox.
 *
 * Contract: it errs towards `critical`. What is not known to be harmless is critical: a module, a name by which processes,
 * files or the network are reached wherever it stands, a place that is only known when it runs. It raises a risk and never
 * lowers one. A script of `tool_chain` is not classified: it can do nothing but call tools, and each of its calls is gated.
 *
 * Next: classify-python.ts, classify-javascript.ts (what each language is looked through for).
 */
import { classifyJavaScript } from "./classify-javascript.ts";
import { classifyPython } from "./classify-python.ts";
import { mostReasons } from "./code-marks.ts";

/**
 * What a piece of code reads as.
 *
 * @public
 */
export interface CodeRisk {
  readonly risk: "safe" | "critical";
  /** What was found, each with its line; none where it is safe. */
  readonly reasons: readonly string[];
}

const longest = 200_000;

/**
 * Whether code reads as safe or as critical, for the `classifyRisk` of tools that run it outside of a sandbox.
 *
 * @param workspace folders in which writing is no harm; a relative path is inside
 * @example
 * classifyRisk: ({ code }) => {
 *   const { risk, reasons } = classifyCode(code, "python");
 *   return { risk, summary: reasons.join("; ") };
 * }
 *
 * @public
 */
export function classifyCode(
  code: string,
  language: "python" | "javascript" | "typescript",
  workspace: readonly string[] = ["/workspace"],
): CodeRisk {
  if (code.length > longest)
    return { risk: "critical", reasons: [`it has ${code.length} characters; nobody reads that`] };
  const reasons = language === "python" ? classifyPython(code, workspace) : classifyJavaScript(code);
  return { risk: reasons.length === 0 ? "safe" : "critical", reasons: reasons.slice(0, mostReasons) };
}
