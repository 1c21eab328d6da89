/** JavaScript and TypeScript, by what is not known to be harmless. */
import { anyOf, lineAt, type Mark, marked, mostReasons, words } from "./code-marks.ts";
import { unknownCalls } from "./javascript-calls.ts";
import { javascriptText, withoutTemplates } from "./javascript-text.ts";

/** Modules that compute, and reach nothing. */
const harmless: ReadonlySet<string> =
  words(`assert buffer path querystring string_decoder url util lodash lodash-es date-fns dayjs luxon d3-array ramda uuid papaparse
  zod decimal.js bignumber.js`);

const network = "fetch XMLHttpRequest WebSocket EventSource navigator sendBeacon axios undici superagent WebTransport";
const everything = "globalThis window self global process Deno Bun require importScripts module Reflect";
const made = "eval Function AsyncFunction GeneratorFunction WebAssembly __proto__ setPrototypeOf getPrototypeOf";

const marks: readonly Mark[] = [
  {
    found: anyOf("child_process execa execSync execFile\\w* spawn spawnSync fork Worker SharedWorker"),
    says: "starts processes",
  },
  { found: anyOf("rmSync rmdir\\w* unlink\\w* truncateSync"), says: "removes files" },
  { found: anyOf(network), says: "uses the network" },
  { found: anyOf(made), says: "runs code made at run time" },
  { found: /(?<![\w$])(?:setTimeout|setInterval)\s*\(\s*["'`]/, says: "runs code made at run time" },
  { found: anyOf(everything), says: "reaches all there is" },
  {
    found: anyOf(
      "(?:write|append|copy)File\\w* createWriteStream rename\\w*Sync symlink\\w* chmod\\w* mkdir\\w* cpSync",
    ),
    says: "writes files",
  },
  { found: /(?<![\w$])constructor(?![\w$])(?!\s*\([^()]*\)\s*\{)/, says: "looks behind objects" },
  { found: /\.\s*constructor(?![\w$])/, says: "looks behind objects" },
  { found: anyOf("__\\w+__ callee caller prepareStackTrace getThis getFunction"), says: "looks behind objects" },
  {
    found: /\bimport\s*\.\s*meta\b|\bdocument\s*\.|\blocation\s*\.\s*(?:href|assign|replace)\b|\bnew\s+Image\b/,
    says: "reaches all there is",
  },
  { found: /\bdownload\s*:/, says: "uses the network" },
  { found: /\[[^\][\n]*["'`]\s*\+|\[[^\][\n]*\+\s*["'`]|\[\s*`[^`[]*\$\{/, says: "computes the name of a member" },
  { found: /[\w$)\]]\s*\[[^\][\n]*\]\s*\(/, says: "calls a member by a computed name" },
  { found: /\bimport\s*\((?!\s*["'][^"'\n]*["']\s*\))/, says: "loads a module that is only known when it runs" },
  { found: /\\u/, says: "hides a name" },
  { found: /<!--|^[ \t]*-->|^#!/m, says: "hides what is a comment" },
];

const inText = new RegExp(`^(?:${`${network} ${everything} ${made} constructor`.split(/\s+/).join("|")})$`);

/** Why it is critical; nothing where it is safe. */
export function classifyJavaScript(source: string): readonly string[] {
  const problem = problemOf(source);
  if (problem !== undefined) return [`it cannot be read: ${problem}`];
  const read = javascriptText(source);
  const { code, strings } = read ?? { code: source, strings: [] };
  const named = strings.filter((text) => inText.test(unescaped(text)));
  return [
    ...marked(code, marks),
    ...looseThis(code),
    ...unknownCalls(source, read === undefined ? code : withoutTemplates(code)),
    ...named.map((text) => `names \`${text.slice(0, 40)}\` in a text`),
    ...strangers(source),
  ];
}

/** Of a method it is the object; of a function that nobody calls on one, all there is. */
function looseThis(code: string): readonly string[] {
  const at =
    /(?<![\w$.])class(?![\w$])/.test(code) && !/(?<![\w$.])function(?![\w$])/.test(code)
      ? -1
      : code.search(/(?<![\w$.])this(?![\w$])/);
  return at < 0 ? [] : [`${lineAt(code, at)}: reaches all there is (\`this\`)`];
}

function unescaped(text: string): string {
  const letter = /\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]{1,6})\}|(\r?\n)|(.))/gi;
  return text.replaceAll(letter, (_whole, ...[two, four, many, line, other]) => {
    const code = Number.parseInt(two ?? four ?? many ?? "", 16);
    if (line !== undefined) return "";
    return Number.isNaN(code) ? String(other) : String.fromCodePoint(Math.min(code, 0x10_ffff));
  });
}

/** What is imported and not known to be harmless. */
function strangers(source: string): readonly string[] {
  const found = source.matchAll(/\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]*)\1/g);
  return [...found]
    .filter(({ 2: name = "" }) => !harmless.has(name.replace(/^node:/, "")))
    .slice(0, mostReasons)
    .map(
      ({ 2: name = "", index }) =>
        `${lineAt(source, index)}: imports \`${name.slice(0, 80)}\`, which is not known to be harmless`,
    );
}

/** Compiled, never run. `return` and `await` at the top are as a script has them. */
function problemOf(code: string): string | undefined {
  try {
    new AsyncFunction(code);
    return undefined;
  } catch (error) {
    if (/^[ \t]*(?:import|export)\b/m.test(code) || typed.test(code)) return undefined; // a module, or TypeScript: the marks decide
    return error instanceof Error ? error.message : "it is no program";
  }
}

const typed = /^[ \t]*(?:interface|type|enum)\s+\w+|[\w)\]]\s*:\s*(?:string|number|boolean|unknown|any|Promise)\b/m;
/** Its constructor only parses; what it makes is never called. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (code: string) => unknown; // an async function's own constructor
