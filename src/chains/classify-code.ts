/**
 * What a piece of code would do, as far as its text tells (case 266): for tools that run code outside of a sandbox.
 *
 * Contract: it errs towards `critical`. What cannot be read is critical, and what reads as harmless may still not be: it
 * raises a risk and never lowers one. A script of `tool_chain` is not classified: it can do nothing but call tools, and each
 * of its calls is gated by itself.
 */
import { blankPython } from "./code-text.ts";

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

interface Mark {
  readonly found: RegExp;
  readonly says: string;
}

const pythonMarks: readonly Mark[] = [
  {
    found: /\bsubprocess\b|\bos\s*\.\s*(?:system|popen|exec\w*|spawn\w*|fork\w*|kill\w*)\b|\bpty\b|\bmultiprocessing\b/,
    says: "starts processes",
  },
  {
    found: /\brmtree\b|\bos\s*\.\s*(?:remove|unlink|rmdir|removedirs|truncate)\b|\.\s*(?:unlink|rmdir)\s*\(/,
    says: "removes files",
  },
  {
    found: /\b(?:socket|requests|httpx|aiohttp|urllib|http\.client|ftplib|smtplib|telnetlib|paramiko|websockets?)\b/,
    says: "uses the network",
  },
  {
    found: /(?<![\w.])(?:exec|eval|compile|__import__)\s*\(|\bimportlib\b|\bruncode\b/,
    says: "runs code made at run time",
  },
  { found: /\bctypes\b|\bcffi\b|\bmmap\b/, says: "reaches into memory" },
  {
    found: /\bpickle\b|\bmarshal\b|\bshelve\b|\bdill\b|\bjoblib\s*\.\s*load\b|\bread_pickle\b/,
    says: "loads objects that run code",
  },
  {
    found: /\bos\s*\.\s*(?:environ|getenv|putenv|chmod|chown|setuid|setgid|rename|replace|symlink|link)\b/,
    says: "changes or reads the system",
  },
  {
    found:
      /__(?:subclasses|globals|builtins|bases|mro|code|reduce\w*)__|(?<![\w.])(?:getattr|setattr|globals|vars|delattr)\s*\(/,
    says: "looks behind objects",
  },
  { found: /\bshutil\s*\.\s*(?:move|copy\w*|chown|make_archive|unpack_archive)\b/, says: "moves or copies files" },
];

const javascriptMarks: readonly Mark[] = [
  {
    found:
      /\bchild_process\b|\bexec(?:Sync|File\w*)?\s*\(|\bspawn(?:Sync)?\s*\(|\bfork\s*\(|\bDeno\s*\.\s*(?:Command|run)\b/,
    says: "starts processes",
  },
  { found: /\b(?:rm|rmdir|unlink|truncate)(?:Sync)?\s*\(/, says: "removes files" },
  {
    found:
      /(?<![\w.])fetch\s*\(|\bXMLHttpRequest\b|\bWebSocket\b|["'](?:node:)?(?:net|http|https|http2|dgram|tls|dns)["']/,
    says: "uses the network",
  },
  {
    found:
      /(?<![\w.])eval\s*\(|\bnew\s+Function\b|\bFunction\s*\(|\bvm\b\s*\.|["'](?:node:)?vm["']|\bconstructor\s*\.\s*constructor\b/,
    says: "runs code made at run time",
  },
  {
    found:
      /\bprocess\s*\.\s*(?:env|kill|exit|binding|dlopen|chdir|setuid)\b|["'](?:node:)?(?:worker_threads|cluster|os|ffi)["']/,
    says: "changes or reads the system",
  },
  {
    found: /\b(?:writeFile|appendFile|createWriteStream|copyFile|rename|symlink|chmod|mkdir)(?:Sync)?\s*\(/,
    says: "writes files",
  },
  { found: /\b__proto__\b|\bsetPrototypeOf\b/, says: "looks behind objects" },
];

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
  if (code.length > longest) return critical([`it has ${code.length} characters; nobody reads that`]);
  return language === "python" ? classifyPython(code, workspace) : classifyJavaScript(code);
}

const longest = 200_000;

function classifyPython(code: string, workspace: readonly string[]): CodeRisk {
  const read = blankPython(code);
  if ("problem" in read) return critical([`it cannot be read: ${read.problem}`]);
  return found([...marked(read.code, pythonMarks), ...pythonWrites(read.code, read.strings, workspace)]);
}

function classifyJavaScript(code: string): CodeRisk {
  const problem = javascriptProblem(code);
  if (problem !== undefined) return critical([`it cannot be read: ${problem}`]);
  return found(marked(code, javascriptMarks)); // texts are kept: modules are named by them
}

/** Compiled, never run. `return` and `await` at the top are as a script has them. */
function javascriptProblem(code: string): string | undefined {
  try {
    new AsyncFunction(code);
    return undefined;
  } catch (error) {
    if (/^\s*(?:import|export)\b/m.test(code) || typed.test(code)) return undefined; // a module, or TypeScript: the marks decide
    return error instanceof Error ? error.message : "it is no program";
  }
}

const typed = /^\s*(?:interface|type|enum)\s+\w+|[\w)\]]\s*:\s*(?:string|number|boolean|unknown|any|Promise)\b/m;
/** Its constructor only parses; what it makes is never called. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (code: string) => unknown; // an async function's own constructor

/** Writing calls, by the path they name: outside the workspace, or one that is only known at run time. */
function pythonWrites(
  code: string,
  strings: ReadonlyMap<number, string>,
  workspace: readonly string[],
): readonly string[] {
  const reasons: string[] = [];
  for (const { 0: call, index } of code.matchAll(writing)) {
    const rest = code.slice(index + call.length);
    const path = textAt(rest, index + call.length, strings);
    if (/^(?:\.\s*)?open/.test(call) && !opensToWrite(rest, index + call.length, strings)) {
      if (path !== undefined && !isInside(path, workspace))
        reasons.push(`${lineAt(code, index)}: reads \`${path.slice(0, 80)}\` outside the workspace`);
      continue;
    }
    if (path === undefined) reasons.push(`${lineAt(code, index)}: writes to a place that is only known when it runs`);
    else if (!isInside(path, workspace))
      reasons.push(`${lineAt(code, index)}: writes \`${path.slice(0, 80)}\` outside the workspace`);
  }
  return reasons;
}

const writing =
  /(?<![\w.])open\s*\(\s*|\.\s*(?:to_(?:csv|excel|json|parquet|pickle|html|feather|hdf|sql)|savefig|save|tofile)\s*\(\s*|\bos\s*\.\s*(?:makedirs|mkdir)\s*\(\s*|\bPath\s*\(\s*(?=[^)]*\)\s*\.\s*(?:write_\w+|touch|mkdir))/g;

function textAt(rest: string, at: number, strings: ReadonlyMap<number, string>): string | undefined {
  const skipped = /^\s*(?:[rbuRBU]*)/.exec(rest)?.[0].length ?? 0;
  return strings.get(at + skipped);
}

/** A mode that is not a plain reading one; one that cannot be seen counts as writing. */
function opensToWrite(rest: string, at: number, strings: ReadonlyMap<number, string>): boolean {
  const inside = rest.slice(0, closing(rest));
  const comma = inside.indexOf(",");
  if (comma < 0) return false;
  const mode = /^\s*(?:mode\s*=\s*)?/.exec(inside.slice(comma + 1));
  if (/^\s*(?:encoding|newline|errors|buffering)\s*=/.test(inside.slice(comma + 1)) && !/\bmode\s*=/.test(inside))
    return false;
  const said = strings.get(at + comma + 1 + (mode?.[0].length ?? 0));
  return said === undefined || /[wax+]/.test(said);
}

function closing(text: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")" && depth-- === 0) return i;
  }
  return text.length;
}

function isInside(path: string, workspace: readonly string[]): boolean {
  if (path.split("/").includes("..") || path.startsWith("~") || /^[A-Za-z]:|^\w+:\/\//.test(path)) return false;
  return !path.startsWith("/") || workspace.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

function marked(code: string, marks: readonly Mark[]): readonly string[] {
  return marks.flatMap(({ found: pattern, says }) => {
    const match = pattern.exec(code);
    return match === null ? [] : [`${lineAt(code, match.index)}: ${says} (\`${match[0].trim().slice(0, 40)}\`)`];
  });
}

function lineAt(code: string, index: number): string {
  return `line ${code.slice(0, index).split("\n").length}`;
}

function found(reasons: readonly string[]): CodeRisk {
  return reasons.length === 0 ? { risk: "safe", reasons } : critical(reasons);
}

function critical(reasons: readonly string[]): CodeRisk {
  return { risk: "critical", reasons: reasons.slice(0, 20) };
}
