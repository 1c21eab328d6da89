/**
 * A script as Monty can drive it: each call of a tool says its line and which tool it is, those that are gathered are asked
 * for together, and `except Exception` catches what Python raises, never what Monty alone cannot do.
 *
 * Why by number: a method of `tools.server` would hand all of `tools.server` out of Monty with each call.
 * Lines stay what they are; only columns move.
 */
import { onceFor } from "../../../once-for.ts";
import type { Program } from "../../../sandbox.ts";
import { type ToolNames, toolNames } from "../tool-names.ts";
import type { Token } from "./tokens.ts";
import { tokensOf } from "./tokens.ts";

/** What a broad `except` means: all that a script of ours can meet in Python. A failed tool is an `OSError` inside Monty. */
const everything = "(ValueError, KeyError, IndexError, ZeroDivisionError, AssertionError, OSError)";
export const gatherName = "__gather__";
const atLine = /^(.*?)__(at|later)_(\d+)$/s;
const byNumber = /^__tool_(\d+)$/;

export interface Called {
  readonly name: string;
  readonly line: number | undefined;
  readonly isLater: boolean;
}

/** What a name that was called stands for. */
export function calledAs(name: string): Called {
  const [, plain, how, line] = atLine.exec(name) ?? [];
  return plain === undefined
    ? { name, line: undefined, isLater: false }
    : { name: plain, line: Number(line), isLater: how === "later" };
}

/** Which of the tools a name stands for that was written in place of its path. */
export function numberIn(name: string): number | undefined {
  const number = byNumber.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}

type Rewritten = { readonly source: string } | { readonly unsupported: string };

/** Whoever reads a script and whoever runs it take the same text. */
export const rewritten: (program: Program) => Rewritten = onceFor(({ source, tools }) =>
  rewriteForMonty(source, toolNames(tools)),
);

type Names = Pick<ToolNames, "alone"> & Partial<Pick<ToolNames, "acting" | "places">>;

export function rewriteForMonty(source: string, { alone, acting = new Set(), places }: Names): Rewritten {
  const tokens = tokensOf(source).filter(({ kind, text }, at, all) => kind !== "newline" || text !== all[at - 1]?.text);
  const roots = new Set(["tools", ...ownNames(tokens, acting, ".")]);
  const calls = toolCalls(tokens, ownNames(tokens, alone), roots);
  const known = ownNames(tokens, roots, "."); // whose path leads to a tool of ours, whatever the script does
  const gathered = gatheredCalls(tokens, calls);
  if (typeof gathered === "string") return { unsupported: gathered };
  const edits: { readonly at: number; readonly length: number; readonly text: string }[] = [];
  for (const [last, first] of calls) {
    const token = tokens[last];
    if (token === undefined) continue;
    const how = gathered.later.has(last) ? "later" : "at";
    const mark = `__${how}_${token.line}`;
    const end = token.start + token.text.length;
    const place = placeOf(tokens.slice(first, last + 1), known, places);
    const start = tokens[first]?.start ?? end;
    const isInLine = place !== undefined && !source.slice(start, end).includes("\n");
    edits.push(
      isInLine
        ? { at: start, length: end - start, text: `__tool_${place}${mark}` }
        : { at: end, length: 0, text: mark },
    );
    const before = tokens[first - 1];
    if (before?.text === "await") edits.push({ at: before.start, length: 5, text: "     " });
  }
  edits.push(...gathered.edits, ...excepts(tokens));
  return { source: applied(source, edits) };
}

/** Bare names of tools that the script has not given another meaning; `next` is what follows one. */
export function ownNames(tokens: readonly Token[], bareNames: ReadonlySet<string>, next = "("): ReadonlySet<string> {
  const taken = new Set<string>();
  tokens.forEach(({ kind, text }, at) => {
    if (kind === "name" && bareNames.has(text) && tokens[at - 1]?.text !== "." && tokens[at + 1]?.text !== next)
      taken.add(text);
    if (text === "def") taken.add(tokens[at + 1]?.text ?? "");
  });
  return new Set([...bareNames].filter((name) => !taken.has(name)));
}

/** Place of a call's last name, and of its first. */
function toolCalls(
  tokens: readonly Token[],
  bareNames: ReadonlySet<string>,
  roots: ReadonlySet<string>,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  tokens.forEach(({ kind, text }, at) => {
    if (kind !== "name" || tokens[at - 1]?.text === "." || tokens[at - 1]?.text === "def") return;
    if (!roots.has(text)) {
      if (bareNames.has(text) && tokens[at + 1]?.text === "(") found.set(at, at);
      return;
    }
    let last = at;
    while (tokens[last + 1]?.text === "." && tokens[last + 2]?.kind === "name" && last < at + 4) last += 2;
    if (last > at && tokens[last + 1]?.text === "(") found.set(last, at);
  });
  return found;
}

/** Where the tool of a path stands in their list. None: it leads to none, or its root is something else here. */
function placeOf(
  path: readonly Token[],
  known: ReadonlySet<string>,
  places: ToolNames["places"] | undefined,
): number | undefined {
  const [root, ...names] = path.filter(({ kind }) => kind === "name").map(({ text }) => text);
  if (root === undefined || names.length === 0 || !known.has(root)) return undefined;
  return places?.get((root === "tools" ? names : [root, ...names]).join("."));
}

interface Gathered {
  readonly later: ReadonlySet<number>;
  readonly edits: readonly { readonly at: number; readonly length: number; readonly text: string }[];
}

/** `await asyncio.gather(tools.a(…), *[tools.b(…) for … in …])`: such calls are asked for together. Any other gathering is for an engine with a loop. */
function gatheredCalls(tokens: readonly Token[], calls: ReadonlyMap<number, number>): Gathered | string {
  const later = new Set<number>();
  const edits: { at: number; length: number; text: string }[] = [];
  if (calls.size === 0) return { later, edits };
  const found = new Calls(tokens, calls);
  for (const [at, token] of tokens.entries()) {
    if (token.text !== "gather" || tokens[at + 1]?.text !== "(") continue;
    const from = tokens[at - 1]?.text === "." && tokens[at - 2]?.text === "asyncio" ? at - 2 : at;
    const awaited = tokens[from - 1];
    const inside = argumentsOf(tokens, at + 1, found);
    if (awaited?.text !== "await" || inside === undefined)
      return `\`asyncio.gather\` of more than calls (line ${token.line})`;
    for (const last of inside) later.add(last);
    edits.push({ at: awaited.start, length: 5, text: "     " });
    const start = tokens[from]?.start ?? token.start;
    edits.push({ at: start, length: token.start + token.text.length - start, text: gatherName });
  }
  return { later, edits };
}

/** Where calls begin, and where each bracket ends: looked for once, however many calls are gathered. */
class Calls {
  readonly #lasts: ReadonlyMap<number, number>;
  /** In the order they stand. */
  readonly #firsts: readonly number[];
  readonly #ends: ReadonlyMap<number, number>;

  /** @param calls place of a call's last name, and of its first */
  constructor(tokens: readonly Token[], calls: ReadonlyMap<number, number>) {
    this.#lasts = new Map([...calls].map(([last, first]) => [first, last]));
    this.#firsts = [...calls.values()].sort((one, other) => one - other);
    this.#ends = bracketEnds(tokens);
  }

  lastOf(first: number): number | undefined {
    return this.#lasts.get(first);
  }

  /** Where the bracket that opens there is closed. */
  endOf(open: number): number | undefined {
    return this.#ends.get(open);
  }

  isOneBetween(from: number, to: number): boolean {
    let low = 0;
    for (let high = this.#firsts.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#firsts[middle] ?? 0) > from) high = middle;
      else low = middle + 1;
    }
    return (this.#firsts[low] ?? to) < to;
  }
}

/** The calls that are the arguments, each directly or in a starred comprehension. */
function argumentsOf(tokens: readonly Token[], open: number, found: Calls): readonly number[] | undefined {
  const calls: number[] = [];
  let at = open + 1;
  for (;;) {
    while (tokens[at]?.kind === "newline") at++;
    if (tokens[at]?.text === ")") return calls;
    const isStarred = tokens[at]?.text === "*" && /^[[(]$/.test(tokens[at + 1]?.text ?? "");
    const start = isStarred ? at + 2 : at;
    const last = found.lastOf(start);
    if (last === undefined) return undefined;
    const end = found.endOf(last + 1);
    if (end === undefined || found.isOneBetween(start, end)) return undefined;
    calls.push(last);
    at = end + 1;
    if (isStarred) {
      if (tokens[at]?.text !== "for") return undefined;
      const shut = found.endOf(start - 1);
      if (shut === undefined || found.isOneBetween(at, shut)) return undefined;
      at = shut + 1;
    }
    while (tokens[at]?.kind === "newline") at++;
    if (tokens[at]?.text === ",") at++;
    else if (tokens[at]?.text !== ")") return undefined;
  }
}

function bracketEnds(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind !== "operator") continue;
    if (/^[([{]$/.test(text)) open.push(at);
    else if (/^[)\]}]$/.test(text)) ends.set(open.pop() ?? -1, at);
  }
  return ends;
}

function excepts(
  tokens: readonly Token[],
): readonly { readonly at: number; readonly length: number; readonly text: string }[] {
  return tokens.flatMap((token, at) => {
    if (token.text !== "except" || token.kind !== "name") return [];
    const after = tokens[at + 1];
    if (after?.text === ":") return [{ at: after.start, length: 0, text: ` ${everything}` }];
    return after?.text === "Exception" ? [{ at: after.start, length: after.text.length, text: everything }] : [];
  });
}

function applied(
  source: string,
  edits: readonly { readonly at: number; readonly length: number; readonly text: string }[],
): string {
  const parts: string[] = [];
  let from = 0;
  for (const { at, length, text } of [...edits].sort((one, other) => one.at - other.at)) {
    parts.push(source.slice(from, at), text);
    from = at + length;
  }
  return parts.join("") + source.slice(from);
}
