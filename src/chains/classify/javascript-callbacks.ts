/** What JavaScript hands over to be called later. */
import { slash } from "./javascript-text.ts";

export interface Later {
  readonly what: string;
  readonly at: number;
}

const takers =
  /(?:\.\s*(map|flatMap|filter|forEach|some|every|find|findIndex|findLast|findLastIndex|reduce|reduceRight|sort|toSorted|then|catch|finally|from|stringify|parse|groupBy)|(?<![\w$])(?:setTimeout|setInterval|queueMicrotask))\s*\(/g;
const second: ReadonlySet<string> = new Set(["from", "stringify", "parse", "groupBy"]);
const arrow = /^(?:async\s*)?(?:\((?:[^()]|\([^()]*\))*\)\s*(?::[^=;{}()]{1,200})?|[\w$]+\s*)=>/;
const written = /^(?:async\s+)?function\b/;
/** Nobody follows a longer one to its end. */
const longest = 4_000;

/** What is handed over and is no function that is written there. */
export function* calledLater(code: string): Generator<Later> {
  for (const { 0: text, 1: method = "", index } of code.matchAll(takers)) {
    const { given, isWhole } = argumentsAt(code, index + text.length);
    const looked = method === "then" ? given : given.slice(second.has(method) ? 1 : 0, second.has(method) ? 2 : 1);
    for (const what of looked) if (!isWritten(what)) yield { what, at: index };
    if (!isWhole && (method === "then" || second.has(method))) yield { what: `.${method}`, at: index };
  }
}

function isWritten(what: string): boolean {
  if (arrow.test(what)) return true;
  return written.test(what) && endsWithBody(what);
}

/** Nothing is taken of the function: its body is the end. */
function endsWithBody(what: string): boolean {
  const head = /^[^(]*\((?:[^()]|\([^()]*\))*\)[^{]*/.exec(what)?.[0].length ?? 0;
  let depth = 0;
  for (let at = head; at < what.length; at += 1) {
    if (what[at] === "{") depth += 1;
    else if (what[at] === "}" && --depth === 0) return what.slice(at + 1).trim() === "";
  }
  return false;
}

function argumentsAt(code: string, start: number): { readonly given: readonly string[]; readonly isWhole: boolean } {
  const given: string[] = [];
  const end = Math.min(code.length, start + longest);
  let depth = 0;
  let from = start;
  for (let at = start; at < end; at += 1) {
    const letter = code[at] ?? "";
    if (letter === "/") at += (slash(code, at, code.slice(Math.max(0, at - 60), at)) ?? "/").length - 1;
    else if ("([{".includes(letter)) depth += 1;
    else if (")]}".includes(letter) && depth-- === 0) {
      const last = code.slice(from, at).trim();
      return { given: last === "" ? given : [...given, last], isWhole: true };
    } else if (letter === "," && depth === 0) {
      given.push(code.slice(from, at).trim());
      from = at + 1;
    }
  }
  return { given: [...given, code.slice(from, end).trim()], isWhole: false };
}
