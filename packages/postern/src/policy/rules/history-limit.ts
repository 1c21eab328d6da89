/**
 * What a rule asks of earlier calls: how many, what sum, which one before, which one never.
 *
 * A limit says what must hold. An `allow` permits while it is kept; a `deny` and a `confirm` apply as soon as it is broken.
 * If the past cannot be seen, or a value to sum is no number, the limit counts as broken. Pure over `Facts.history`, `Facts.now`.
 */
import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import type { Facts, History, HistoryScope, PastCall } from "../policy.ts";
import { invalid } from "../problem.ts";
import { type ArgumentPath, parsePath, wrong } from "./argument-path.ts";
import { canonicalParts } from "./canonical-path.ts";
import { nameMatcher } from "./glob.ts";
import type { HistoryLimit, PastSelector, Rule } from "./rule-schema.ts";

export type PastState = PastCall["state"];

export type LimitResult = "kept" | "broken" | "unclear";

export interface CompiledLimit {
  readonly within: HistoryScope;
  /** Milliseconds. */
  readonly window: number;
  /** For people: `at most 3 calls in 3600 s by the principal`. */
  readonly text: string;
  readonly judge: (facts: Facts) => LimitResult;
  /** How much of it is used, this call included, for people. */
  readonly usage: (facts: LimitFacts) => readonly string[];
}

export type LimitFacts = Pick<Facts, "tool" | "arguments" | "history" | "now" | "key">;

/** What a limit counts when it names no tool. */
type RuleSelector = Pick<Rule, "tool" | "action" | "server">;

const scopes: Readonly<Record<HistoryScope, string>> = {
  run: "in the run",
  principal: "by the principal",
  tenant: "in the tenant",
};

/** @throws RuntimeFault `policy_invalid` for what the schema cannot check */
export function compileLimit(limit: HistoryLimit, rule: RuleSelector, at: string): CompiledLimit {
  const { within, windowSeconds, atMost, sum, requires, forbids, ...own } = limit;
  const window = windowSeconds === undefined ? Number.POSITIVE_INFINITY : windowSeconds * 1000;
  const counted = compileSelector(own, at, { rule });
  const checks: LimitCheck[] = [];
  if (atMost !== undefined) checks.push(countCheck(atMost, counted));
  if (sum !== undefined) checks.push(sumCheck(sum, counted, at));
  if (requires !== undefined) checks.push(earlierCheck("requires", requires, at));
  if (forbids !== undefined) checks.push(earlierCheck("forbids", forbids, at));
  if (checks.length === 0) throw invalid(`The ${at} asks for nothing; it has atMost, sum, requires or forbids.`);
  if (atMost === undefined && sum === undefined && Object.keys(own).length > 0)
    throw invalid(`The ${at} names calls and counts none; \`requires\` and \`forbids\` have a \`tool\` of their own.`);
  const during = `${windowSeconds === undefined ? "" : ` in ${windowSeconds} s`} ${scopes[within]}`;
  return {
    within,
    window,
    text: checks.map(({ text }) => text + during).join(" and "),
    judge: (facts) => {
      const history = facts.history[within];
      return history === undefined ? "unclear" : judgeAll(checks, seen(history, facts.now - window, facts.key), facts);
    },
    usage: (facts) => {
      const history = facts.history[within];
      if (history === undefined) return ["the past cannot be seen"];
      const past = seen(history, facts.now - window, facts.key);
      return checks.flatMap(({ usage }) => usage?.(past, facts) ?? []);
    },
  };
}

interface LimitCheck {
  readonly text: string;
  readonly judge: (past: readonly PastCall[], facts: LimitFacts) => LimitResult;
  readonly usage?: (past: readonly PastCall[], facts: LimitFacts) => string;
}

function judgeAll(checks: readonly LimitCheck[], past: readonly PastCall[], facts: LimitFacts): LimitResult {
  let worst: LimitResult = "kept";
  for (const { judge } of checks) {
    const kept = judge(past, facts);
    if (kept === "broken") return kept;
    if (kept === "unclear") worst = kept;
  }
  return worst;
}

/** A call that is tried again is not its own past. It examines every call, because a clock that was set back leaves them out of order. */
function seen({ calls }: History, after: number, own: string | undefined): readonly PastCall[] {
  if (after === Number.NEGATIVE_INFINITY && own === undefined) return calls;
  return calls.filter(({ at, key }) => at > after && (own === undefined || key !== own));
}

/** Adds one for each counted call, or the numbers at a path. NaN stands for a value that is no number. */
function totalIn(
  past: readonly PastCall[],
  facts: LimitFacts,
  { counted, amountIn }: { readonly counted: Selector; readonly amountIn: (args: JsonObject) => number },
): number {
  let total = counted.isThis(facts) ? amountIn(facts.arguments) : 0;
  for (const one of past) if (counted.fits(one, facts) !== false) total += amountIn(one.arguments);
  return total;
}

function countCheck(most: number, counted: Selector): LimitCheck {
  const terms = { counted, amountIn: () => 1 };
  return {
    text: `at most ${most} ${most === 1 ? "call" : "calls"} of ${counted.text}`,
    judge: (past, facts) =>
      counted.isUnclear(facts) ? "unclear" : totalIn(past, facts, terms) > most ? "broken" : "kept",
    usage: (past, facts) => `with this call there are ${totalIn(past, facts, terms)}`,
  };
}

function sumCheck(sum: NonNullable<HistoryLimit["sum"]>, counted: Selector, at: string): LimitCheck {
  const { atMost: most } = sum;
  const path = parsePath(sum.path, `\`sum\` of ${at}`);
  const slack = 1e-9 * Math.max(1, Math.abs(most)); // 0.1 + 0.2 is not more than 0.3
  const terms = { counted, amountIn: (args: JsonObject) => amountAt(path, args) };
  return {
    text: `a sum of ${path.text} of at most ${most} over calls of ${counted.text}`,
    judge: (past, facts) => {
      const total = counted.isUnclear(facts) ? Number.NaN : totalIn(past, facts, terms);
      if (Number.isNaN(total)) return "unclear";
      return total - most > slack ? "broken" : "kept";
    },
    usage: (past, facts) => {
      const total = totalIn(past, facts, terms);
      return Number.isNaN(total) ? "one of the values is no number" : `with this call it is ${total}`;
    },
  };
}

/** Returns NaN if a value is no number. */
function amountAt(path: ArgumentPath, args: JsonObject): number {
  let total = 0;
  for (const one of path.all(args)) {
    const value = one.found === "value" ? one.value : undefined;
    if (typeof value !== "number") return Number.NaN;
    total += Math.max(0, value);
  }
  return total;
}

/** `requires` needs an earlier call that surely fits; `forbids` is broken by one that may fit. */
function earlierCheck(kind: "requires" | "forbids", selector: PastSelector, at: string): LimitCheck {
  const isRequired = kind === "requires";
  const meant = compileSelector(selector, `\`${kind}\` of ${at}`, isRequired ? { usual: ["ok"] } : {});
  return {
    text: `${isRequired ? "a" : "no"} call of ${meant.text} before`,
    judge: (past, facts) => {
      if (!meant.comparable(facts)) return "unclear";
      const isThere = past.some((one) => (meant.fits(one, facts) ?? !isRequired) === true);
      return isThere === isRequired ? "kept" : "broken";
    },
  };
}

interface Selector {
  readonly text: string;
  /** Returns undefined if the earlier call's path does not say where it leads, so the call may fit. */
  readonly fits: (past: PastCall, facts: LimitFacts) => boolean | undefined;
  readonly isThis: (facts: LimitFacts) => boolean;
  /** Its own path does not say where it leads. */
  readonly isUnclear: (facts: LimitFacts) => boolean;
  /** The values that must be the same exist in this call. */
  readonly comparable: (facts: LimitFacts) => boolean;
}

/** @param usual the states that count if the selector names none */
function compileSelector(
  { tool, action, state, same, samePath }: PastSelector,
  at: string,
  { usual, rule }: { readonly usual?: readonly PastState[]; readonly rule?: RuleSelector } = {},
): Selector {
  if (rule === undefined && tool === undefined && action === undefined)
    throw invalid(`The ${at} names no call; give it a \`tool\`.`);
  const named =
    rule === undefined || tool !== undefined ? { tool, action } : { ...rule, ...(action !== undefined && { action }) };
  const fitsTool = nameMatcher(named.tool);
  const fitsAction = nameMatcher(named.action);
  const fitsServer = nameMatcher("server" in named ? named.server : undefined);
  const wantedStates = state === undefined ? usual : [state].flat();
  const pairs = samePairs(same, samePath, at);
  const isOf = (one: { readonly tool: string; readonly action: string; readonly server?: string }): boolean =>
    fitsTool(one.tool) && fitsAction(one.action) && fitsServer(one.server);
  return {
    text: `\`${named.tool ?? "*"}\`${named.action === undefined ? "" : ` ${named.action}`}${pairs.length === 0 ? "" : ` with the same ${pairs.map(({ here }) => here.text).join(", ")}`}`,
    isThis: ({ tool: facts }) => isOf(facts),
    isUnclear: (facts) => pairs.some(({ here, valueAt }) => valueAt(here, facts.arguments) === unclear),
    comparable: (facts) => pairs.every(({ here, valueAt }) => !isNothing(valueAt(here, facts.arguments))),
    fits: (past, facts) => {
      if (!isOf(past) || (wantedStates !== undefined && !wantedStates.includes(past.state))) return false;
      let fits: boolean | undefined = true;
      for (const { here, there, valueAt } of pairs) {
        const mine = valueAt(here, facts.arguments);
        const other = valueAt(there, past.arguments);
        if (other === unclear && !isNothing(mine)) fits = undefined;
        else if (isNothing(mine) || mine !== other) return false;
      }
      return fits;
    },
  };
}

/** A path whose text does not say where it leads, or an artifact that was not read. */
const unclear: unique symbol = Symbol("unclear");
type ComparedValue = Json | undefined | typeof unclear;

interface ComparedPaths {
  readonly here: ArgumentPath;
  readonly there: ArgumentPath;
  readonly valueAt: (path: ArgumentPath, args: JsonObject) => ComparedValue;
}

function isNothing(value: ComparedValue): boolean {
  return value === undefined || value === unclear;
}

/** `a`, `./a` and `a//` are one. */
function fileAt(path: ArgumentPath, args: JsonObject): ComparedValue {
  const value = scalarAt(path, args);
  if (value === unclear) return unclear;
  return typeof value === "string" ? (canonicalParts(value)?.join("/") ?? unclear) : undefined;
}

/** Returns undefined for lists and objects, which are not compared. An artifact that was not read may hold anything. */
function scalarAt(path: ArgumentPath, args: JsonObject): ComparedValue {
  const value = path.one(args);
  if (value === wrong) return undefined;
  const known = value as Json | undefined; // `wrong` is excluded
  if (isJsonObject(known)) return typeof known["$artifact"] === "string" ? unclear : undefined;
  return Array.isArray(known) ? undefined : known;
}

function pairsOf(paths: PastSelector["same"], at: string, valueAt: ComparedPaths["valueAt"]): readonly ComparedPaths[] {
  if (paths === undefined) return [];
  const pairs = typeof paths === "string" ? [[paths, paths] as const] : Object.entries(paths);
  return pairs.map((pair) => {
    const [here, there] = [parsePath(pair[0], at), parsePath(pair[1], at)];
    if (here.many || there.many) throw invalid(`${at} has a \`[*]\`; it compares single values.`);
    return { here, there, valueAt };
  });
}

/** @throws RuntimeFault `policy_invalid` */
function samePairs(
  same: PastSelector["same"],
  samePath: PastSelector["samePath"],
  at: string,
): readonly ComparedPaths[] {
  return [...pairsOf(same, `\`same\` of ${at}`, scalarAt), ...pairsOf(samePath, `\`samePath\` of ${at}`, fileAt)];
}
