/**
 * What Monty would do differently from Python, found in the source before anything runs.
 *
 * Why so strict: Monty is a part of Python. What it refuses, it refuses aloud, and the next engine takes over; what it does
 * *silently* otherwise (it ignores decorators, `hasattr` guesses) would be a wrong answer. So only what is known to be the same
 * is let through, and a script's `except` never catches what only Monty raised.
 */
import { ownNames } from "../monty/monty-rewrite.ts";
import { type Token, tokensOf } from "../monty/tokens.ts";

const modules: ReadonlySet<string> = new Set(["json", "re", "math", "datetime", "asyncio", "typing"]);

/** Attributes that were compared with CPython, by what they are used on. */
const attributes: ReadonlySet<string> = new Set(
  [
    "text structured ref files status tools",
    "split rsplit strip lstrip rstrip upper lower title replace partition zfill join startswith endswith ljust rjust splitlines casefold count find isdigit isalpha encode decode",
    "append extend insert pop sort reverse index clear copy",
    "get items keys values update setdefault add discard union intersection difference",
    "dumps loads findall match search split sub compile group groups",
    "sqrt floor ceil pi log10 isclose",
    "datetime timedelta timezone date utc isoformat fromisoformat strptime strftime year month day hour minute second days",
    "gather run Any Optional List Dict",
  ].flatMap((line) => line.split(" ")),
);

const foreign: ReadonlySet<string> = new Set(
  "round frozenset hasattr getattr setattr delattr eval exec compile globals locals vars dir input help open callable memoryview bytearray object super property staticmethod classmethod complex format breakpoint exit quit ToolError ToolDenied ToolResult artifacts materialize type repr id hash finally class yield match case del with nonlocal".split(
    " ",
  ),
);

/** Errors that mean the same in both; all others Monty may raise for its own reasons. */
const caught: ReadonlySet<string> = new Set([
  "Exception",
  "ValueError",
  "KeyError",
  "IndexError",
  "ZeroDivisionError",
  "PermissionError",
  "AssertionError",
]);

/** Where Monty's answer is silently another one: how sets compare, and views of dictionaries. */
const sets = /\bset\(|\.(?:union|intersection|difference|discard|add)\(/;
const order = /[<>]/;
const longestFormatted = 500;
const comparisons: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  {
    pattern: /\.(?:items|keys)\(\)\s*(?:[=!<>]=|[<>&^-])|[=!<>]=\s*[\w.]+\.(?:items|keys)\(\)/,
    what: "a comparison of a dictionary's view",
  },
  { pattern: /\}\s*[<>]|[<>]=?\s*\{/, what: "a comparison of sets" },
];

/** @param acting tools that are said with one of their actions, without `tools.` */
export function scanForMonty(source: string, acting: ReadonlySet<string> = new Set()): string | undefined {
  const compared = comparisons.find(({ pattern }) => pattern.test(source));
  if (compared !== undefined) return compared.what;
  if (sets.test(source) && order.test(source)) return "a comparison beside sets";
  const tokens = tokensOf(source);
  const tools = ownNames(tokens, acting, ".");
  let lineStart = 0;
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at - 1]?.kind === "newline") lineStart = at;
    const found = oddity(tokens, at, { tools, lineStart });
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Around {
  readonly tools: ReadonlySet<string>;
  /** Place of the first token in its line. */
  readonly lineStart: number;
}

function oddity(tokens: readonly Token[], at: number, { tools, lineStart }: Around): string | undefined {
  const token = tokens[at];
  const before = tokens[at - 1];
  const after = tokens[at + 1];
  if (token === undefined) return undefined;
  if (token.kind === "string") return textOddity(token, after);
  if (token.kind === "number") return /[jJ]$/.test(token.text) ? `a complex number (line ${token.line})` : undefined;
  if (token.kind === "operator") return operatorOddity(token, before, after);
  if (token.kind !== "name") return undefined;
  if (before?.text === ".")
    return attributes.has(token.text) || isToolName(tokens, at, tools)
      ? undefined
      : `\`.${token.text}\` (line ${token.line})`;
  if (token.text === "import" || token.text === "from") return importOddity(tokens, at, lineStart);
  if (token.text === "except") return exceptOddity(tokens, at);
  if (token.text.startsWith("__")) return `\`${token.text}\` (line ${token.line})`;
  if (token.text === "help" && after?.text === "(" && isAskedInWords(tokens[at + 2])) return undefined;
  return foreign.has(token.text) && !(after?.text === "=" && before?.text !== "\n")
    ? `\`${token.text}\` (line ${token.line})`
    : undefined;
}

/** `help("words")` and `help()`: the host knows. What is known of anything else, Python itself must say. */
function isAskedInWords(first: Token | undefined): boolean {
  return first?.text === ")" || (first?.kind === "string" && first.formatted !== true);
}

/** `tools.server.tool(`: whatever the tool is called. */
function isToolName(tokens: readonly Token[], at: number, tools: ReadonlySet<string>): boolean {
  const chain = tokens.slice(Math.max(0, at - 4), at).map(({ text }) => text);
  if (tools.has(chain.at(-2) ?? "") && chain.at(-3) !== ".") return true;
  return chain.at(-2) === "tools" || (chain.at(-4) === "tools" && chain.at(-3) === ".");
}

function operatorOddity(
  { text, line }: Token,
  before: Token | undefined,
  after: Token | undefined,
): string | undefined {
  if (text === "@" && (before === undefined || before.kind === "newline")) return `a decorator (line ${line})`;
  if (text === "|" || text === "|=") return `\`|\` (line ${line})`;
  if (text === "%" && (before?.kind === "string" || before?.text === ")")) return `\`%\` on text (line ${line})`;
  return text === "." && after?.kind === "number" ? `\`.\` (line ${line})` : undefined;
}

function textOddity({ text, formatted, line }: Token, after: Token | undefined): string | undefined {
  if (after?.text === "%") return `\`%\` on text (line ${line})`;
  if (formatted !== true) return undefined;
  if (text.length > longestFormatted) return `a long f-string (line ${line})`;
  if (/![rsa]\s*[:}]|=\s*[!:}]|:[^}]*[,_n%]\s*\}|\b(?:tools|await|lambda)\b/.test(text))
    return `an f-string (line ${line})`;
  const inner = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, expression = ""]) => expression.replace(/:[^:]*$/, ""));
  for (const expression of inner) {
    const found = scanForMonty(expression);
    if (found !== undefined) return found.replace(/line \d+/, `line ${line}`);
  }
  return undefined;
}

function importOddity(tokens: readonly Token[], at: number, lineStart: number): string | undefined {
  if (tokens[at]?.text === "import" && tokens[lineStart]?.text === "from") return undefined;
  const named = tokens.slice(at + 1, at + 9).find(({ kind }) => kind !== "operator");
  const until = tokens.slice(at + 1, at + 20).findIndex(({ kind }) => kind === "newline");
  const rest = tokens.slice(at + 1, until < 0 ? at + 20 : at + 1 + until);
  if (tokens[at]?.text === "import" && rest.some(({ text }) => text === ",")) return "several modules imported at once";
  return named !== undefined && modules.has(named.text) && tokens[at + 2]?.text !== "."
    ? undefined
    : `the module \`${named?.text ?? ""}\``;
}

/** What a script catches must be what Python would raise, too. */
function exceptOddity(tokens: readonly Token[], at: number): string | undefined {
  const end = tokens.slice(at, at + 60).findIndex(({ text }) => text === ":");
  const names = tokens.slice(at + 1, at + Math.max(1, end)).filter(({ kind }) => kind === "name");
  const alias = names.findIndex(({ text }) => text === "as");
  const classes = alias < 0 ? names : names.slice(0, alias);
  const odd = classes.find(({ text }) => !caught.has(text));
  return odd === undefined ? undefined : `\`except ${odd.text}\` (line ${odd.line})`;
}
