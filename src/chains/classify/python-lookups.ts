/** Where data libraries look up a method by a text: harmless is a text that stands in the code as it is, or a function. */
import { lineAt, mostReasons, words } from "./code-marks.ts";
import type { PythonText } from "./code-text.ts";
import { boundAnew, pythonImports } from "./python-calls.ts";

type Read = Extract<PythonText, { code: string }>;

interface Piece {
  readonly from: number;
  readonly to: number;
}

const lookups = /\.\s*(apply|agg|aggregate|transform)\s*\(|[(,]\s*(?:agg)?func\s*=(?!=)/g;
/** What the looking up itself takes; anything else is handed to what was found. */
const ownKeywords = /^\s*(?:axis|result_type|raw|engine|by_row|numeric_only|skipna|include_groups)\s*=(?!=)/;
/** An expression of polars, whatever is made of it: nothing is looked up by it. */
const expressions =
  /^\s*(?:pl|polars)\s*\.\s*(?:col|len|count|sum|mean|min|max|first|last|median|all|any|when|struct|quantile|std|var|lit|element|corr|cov|n_unique|concat_list|concat_str|int_range)\s*\(/;
const functions: ReadonlySet<string> = words(
  "abs all any bool dict float frozenset int len list max min repr reversed round set sorted str sum tuple type",
);
const opens = /(?:[([{,:=]|\belse|^)\s*[rbuRBU]{0,2}$/;
const closes = /^\s*(?:[,)\]}:]|$|(?:for|if|else)\b|\.\s*join\s*(?:[,)\]}]|$))/;
const plainTexts = /^\s*(?:[rbuRBU]?["'][^"']*["']|[[{](?:[\s,:]|[rbuRBU]?["'][^"']*["'])*[\]}])\s*$/;
/** A longer call is nothing to be read. */
const longest = 4_000;

export function pythonLookups(read: Read): readonly string[] {
  const { code } = read;
  const found = [...code.matchAll(lookups)];
  if (found.length === 0) return [];
  const known = functionsOf(code);
  const reasons: string[] = [];
  for (const { 0: text, 1: method, index } of found) {
    if (reasons.length >= mostReasons) break;
    const given = argumentsAt(code, index + text.length);
    const isOdd =
      given === undefined ||
      (method === undefined ? !isPlain(read, given.slice(0, 1)) : isOddCall(read, given, { method, known }));
    if (isOdd) reasons.push(`${lineAt(code, index)}: looks up a method that is only known when it runs`);
  }
  return reasons;
}

function functionsOf(code: string): ReadonlySet<string> {
  const defined = [...code.matchAll(/\bdef\s+(\w+)/g)].map(({ 1: name = "" }) => name);
  const known = new Set([...functions, ...pythonImports(code).map(({ as }) => as), ...defined]);
  for (const name of boundAnew(code)) known.delete(name);
  return known;
}

interface Called {
  readonly method: string;
  readonly known: ReadonlySet<string>;
}

function isOddCall(read: Read, given: readonly Piece[], { method, known }: Called): boolean {
  const said = given.map(({ from, to }) => read.code.slice(from, to));
  if (said.every((one) => expressions.test(one.replace(/^\s*\w+\s*=(?!=)/, "")))) return false;
  if (method === "transform" && said.length === 1 && !/^\s*(?:\w+\s*=(?!=)|\*)/.test(said[0] ?? "")) return false; // data of a model; or a method that is given nothing
  const place = said.findIndex(
    (one, at) => /^\s*func\s*=(?!=)/.test(one) || (at === 0 && !/^\s*(?:\w+\s*=(?!=)|\*)/.test(one)),
  );
  const wanted = said[place]?.replace(/^\s*func\s*=/, "");
  if (wanted !== undefined && isFunction(wanted, known)) return false;
  if (!isPlain(read, given) || said.some((one) => /^\s*\*/.test(one))) return true;
  const isHandedOn = said.some((one, at) => at !== place && !ownKeywords.test(one));
  return wanted !== undefined && isHandedOn && !plainTexts.test(wanted); // without it there are columns, each with its own
}

function isFunction(said: string, known: ReadonlySet<string>): boolean {
  if (/^\s*lambda\b/.test(said) || /^\s*(["'])\s*\1\s*\.\s*[a-z]+\s*$/.test(said)) return true;
  const [, root] = /^\s*([A-Za-z_]\w*)(?:\s*\.\s*\w+)*\s*$/.exec(said) ?? [];
  return root !== undefined && known.has(root);
}

/** Between the commas of a call. Undefined: it is too long to be read. */
function argumentsAt(code: string, start: number): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < code.length && at < start + longest; at += 1) {
    const letter = code[at] ?? "";
    if (letter === '"' || letter === "'") at = endOfText(code, at) - 1;
    else if ("([{".includes(letter)) depth += 1;
    else if (")]}".includes(letter) && depth-- === 0)
      return [...pieces, { from, to: at }].filter((piece) => code.slice(piece.from, piece.to).trim() !== "");
    else if (letter === "," && depth === 0) {
      pieces.push({ from, to: at });
      from = at + 1;
    }
  }
  return undefined;
}

/** Each text outside of calls stands by itself, as it is written: nothing is added to it, and no letter of it is hidden. */
function isPlain({ code, strings }: Read, given: readonly Piece[]): boolean {
  return given.every(({ from, to }) => {
    if (/^\s*(?:\w+\s*=(?!=)\s*)?lambda\b/.test(code.slice(from, to))) return true;
    const calls: boolean[] = [];
    for (let at = from; at < to; at += 1) {
      const letter = code[at] ?? "";
      const before = code.slice(Math.max(from, at - 20), at);
      if ("([{".includes(letter)) calls.push(letter === "(" && /[\w)\]]\s*$/.test(before));
      else if (")]}".includes(letter)) calls.pop();
      else if (letter === '"' || letter === "'") {
        const end = endOfText(code, at);
        const text = strings.get(at);
        const isHidden = text === undefined || text.includes("\\");
        const isAlone = opens.test(before) && closes.test(code.slice(end, Math.min(to, end + 20)));
        if (!calls.includes(true) && (isHidden || !isAlone)) return false;
        at = end - 1;
      }
    }
    return true;
  });
}

/** Content of texts is blank, so each ends with the next of its quotes. */
function endOfText(code: string, at: number): number {
  const end = code.indexOf(code[at] ?? "", at + 1);
  return end < 0 ? code.length : end + 1;
}
