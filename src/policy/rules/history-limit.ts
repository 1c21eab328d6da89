/**
 * What a rule asks of the past: how many calls, what sum, which call before, which never.
 *
 * A limit says what must hold. An `allow` permits while it is kept; a `deny` and a `confirm` apply as soon as it is broken.
 * Where the past cannot be seen, or holds no number where one is summed, it counts as broken. Pure over `Facts.history`, `Facts.now`.
 */
import type { JsonObject } from "../../calls/json.ts";
import { fieldsOf, invalid } from "../checking.ts";
import type { Facts, History, HistoryScope, PastCall } from "../policy.ts";
import { type ArgumentPath, parsePath } from "./argument-path.ts";
import { globMatcher } from "./glob.ts";
import { isNothing, samePairs, unclear } from "./same.ts";

export type PastState = PastCall["state"];

/** Which earlier calls are meant. */
export interface PastSelector {
  /** Name or pattern. Left out in a limit: what the rule itself speaks of. */
  readonly tool?: string;
  readonly action?: string;
  /** Left out: every call that was begun, also one that failed; in `requires`, only `ok`. */
  readonly state?: PastState | readonly PastState[];
  /** Equal in both calls: a path, or paths of this call with the path of the earlier one. */
  readonly same?: string | Readonly<Record<string, string>>;
  /** The same for file paths, compared by where they lead: `./a` is `a`. */
  readonly samePath?: string | Readonly<Record<string, string>>;
}

export interface HistoryLimit extends PastSelector {
  readonly within: HistoryScope;
  /** No further back than this. Left out: as long as the scope lives. */
  readonly windowSeconds?: number;
  /** Calls, this one included. */
  readonly atMost?: number;
  /** Of the numbers at a path, this call's included. What is below zero counts as nothing. */
  readonly sum?: { readonly path: string; readonly atMost: number };
  readonly requires?: PastSelector;
  readonly forbids?: PastSelector;
}

export type Kept = "kept" | "broken" | "unclear";

export interface CompiledLimit {
  readonly within: HistoryScope;
  /** Milliseconds. */
  readonly window: number;
  /** For people: `at most 3 calls in 3600 s by the principal`. */
  readonly text: string;
  readonly judge: (facts: Facts) => Kept;
  /** How much of it is used, this call included, for people. */
  readonly standing: (facts: Seen) => readonly string[];
}

type Seen = Pick<Facts, "tool" | "arguments" | "history" | "now" | "key">;

/** What a limit counts when it names no tool. */
export interface RuleSelector {
  readonly tool?: string;
  readonly action?: string;
  readonly server?: string;
}

const scopes: ReadonlyMap<unknown, string> = new Map([
  ["run", "in the run"],
  ["principal", "by the principal"],
  ["tenant", "in the tenant"],
]);
const states: readonly unknown[] = ["attempted", "ok", "failed", "unknown"];
const selectorFields: readonly string[] = ["tool", "action", "state", "same", "samePath"];
const limitFields: readonly string[] = [
  ...selectorFields,
  "within",
  "windowSeconds",
  "atMost",
  "sum",
  "requires",
  "forbids",
];

/** @throws RuntimeFault `policy_invalid` */
export function compileLimit(given: unknown, rule: RuleSelector, at: string): CompiledLimit {
  checkFields(given, at, limitFields);
  const { within, windowSeconds, atMost, sum, requires, forbids, ...own } = given as HistoryLimit; // each field is checked below
  if (!scopes.has(within))
    throw invalid(`\`within\` of ${at} is \`${String(within)}\`; it is run, principal or tenant.`);
  if (windowSeconds !== undefined && !(Number.isFinite(windowSeconds) && windowSeconds > 0))
    throw invalid(`\`windowSeconds\` of ${at} is \`${String(windowSeconds)}\`; it is a number of seconds above 0.`);
  const window = windowSeconds === undefined ? Number.POSITIVE_INFINITY : windowSeconds * 1000;
  const counted = compileSelector(own, at, { rule });
  const checks: Check[] = [];
  if (atMost !== undefined) checks.push(countCheck(atMost, counted, at));
  if (sum !== undefined) checks.push(sumCheck(sum, counted, at));
  if (requires !== undefined) checks.push(requiresCheck(requires, at));
  if (forbids !== undefined) checks.push(forbidsCheck(forbids, at));
  if (checks.length === 0) throw invalid(`The ${at} asks for nothing; it has atMost, sum, requires or forbids.`);
  if (atMost === undefined && sum === undefined && fieldsOf(own, at).length > 0)
    throw invalid(`The ${at} names calls and counts none; \`requires\` and \`forbids\` have a \`tool\` of their own.`);
  const during = `${windowSeconds === undefined ? "" : ` in ${windowSeconds} s`} ${scopes.get(within)}`;
  return {
    within,
    window,
    text: checks.map(({ text }) => text + during).join(" and "),
    judge: (facts) => {
      const history = facts.history[within];
      return history === undefined ? "unclear" : judgeAll(checks, seen(history, facts.now - window, facts.key), facts);
    },
    standing: (facts) => {
      const history = facts.history[within];
      if (history === undefined) return ["the past cannot be seen"];
      const past = seen(history, facts.now - window, facts.key);
      return checks.flatMap(({ standing }) => standing?.(past, facts) ?? []);
    },
  };
}

interface Check {
  readonly text: string;
  readonly judge: (past: readonly PastCall[], facts: Seen) => Kept;
  readonly standing?: (past: readonly PastCall[], facts: Seen) => string;
}

function judgeAll(checks: readonly Check[], past: readonly PastCall[], facts: Seen): Kept {
  let worst: Kept = "kept";
  for (const { judge } of checks) {
    const kept = judge(past, facts);
    if (kept === "broken") return kept;
    if (kept === "unclear") worst = kept;
  }
  return worst;
}

/** A call that is tried again is not its own past. One at the very edge of the window has left it. Each is looked at: a clock that was set back leaves them out of order. */
function seen({ calls }: History, after: number, own: string | undefined): readonly PastCall[] {
  if (after === Number.NEGATIVE_INFINITY && own === undefined) return calls;
  return calls.filter(({ at, key }) => at > after && (own === undefined || key !== own));
}

function countCheck(atMost: unknown, counted: Selector, at: string): Check {
  const most = checkedMost(atMost, at);
  if (!Number.isInteger(most)) throw invalid(`\`atMost\` of ${at} is \`${most}\`; it is a whole number of calls.`);
  const callsIn = (past: readonly PastCall[], facts: Seen): number => {
    let calls = counted.isThis(facts) ? 1 : 0;
    for (const one of past) if (counted.fits(one, facts) !== false) calls += 1;
    return calls;
  };
  return {
    text: `at most ${most} ${most === 1 ? "call" : "calls"} of ${counted.text}`,
    judge: (past, facts) => (counted.isUnclear(facts) ? "unclear" : callsIn(past, facts) > most ? "broken" : "kept"),
    standing: (past, facts) => `with this call there are ${callsIn(past, facts)}`,
  };
}

function sumCheck(sum: unknown, counted: Selector, at: string): Check {
  checkFields(sum, `\`sum\` of ${at}`, ["path", "atMost"]);
  const { path: text, atMost } = sum as { readonly path?: unknown; readonly atMost?: unknown }; // both are checked here
  const path = parsePath(text, `\`sum\` of ${at}`);
  const most = checkedMost(atMost, `\`sum\` of ${at}`);
  const slack = 1e-9 * Math.max(1, Math.abs(most)); // 0.1 + 0.2 is not more than 0.3
  const totalIn = (past: readonly PastCall[], facts: Seen): number => {
    let total = counted.isThis(facts) ? amountIn(facts.arguments, path) : 0;
    for (const one of past) if (counted.fits(one, facts) !== false) total += amountIn(one.arguments, path);
    return total;
  };
  return {
    text: `a sum of ${path.text} of at most ${most} over calls of ${counted.text}`,
    judge: (past, facts) => {
      const total = counted.isUnclear(facts) ? Number.NaN : totalIn(past, facts);
      if (Number.isNaN(total)) return "unclear";
      return total - most > slack ? "broken" : "kept";
    },
    standing: (past, facts) => {
      const total = totalIn(past, facts);
      return Number.isNaN(total) ? "one of the values is no number" : `with this call it is ${total}`;
    },
  };
}

/** NaN: there is no number to add. */
function amountIn(args: JsonObject, path: ArgumentPath): number {
  let total = 0;
  const met = path.all(args);
  for (const one of met) {
    const value = one.found === "value" ? one.value : undefined;
    if (typeof value !== "number") return Number.NaN;
    total += Math.max(0, value);
  }
  return total;
}

function requiresCheck(given: unknown, at: string): Check {
  const wanted = compileSelector(given, `\`requires\` of ${at}`, { usual: ["ok"] });
  return {
    text: `a call of ${wanted.text} before`,
    judge: (past, facts) => {
      if (!wanted.comparable(facts)) return "unclear";
      return past.some((one) => wanted.fits(one, facts) === true) ? "kept" : "broken";
    },
  };
}

function forbidsCheck(given: unknown, at: string): Check {
  const unwanted = compileSelector(given, `\`forbids\` of ${at}`);
  return {
    text: `no call of ${unwanted.text} before`,
    judge: (past, facts) => {
      if (!unwanted.comparable(facts)) return "unclear";
      return past.some((one) => unwanted.fits(one, facts) !== false) ? "broken" : "kept";
    },
  };
}

interface Selector {
  readonly text: string;
  /** Undefined: the earlier call's path does not say where it leads, so it may be meant. */
  readonly fits: (past: PastCall, facts: Seen) => boolean | undefined;
  readonly isThis: (facts: Seen) => boolean;
  /** Its own path does not say where it leads. */
  readonly isUnclear: (facts: Seen) => boolean;
  /** What must be the same is there to be compared. */
  readonly comparable: (facts: Seen) => boolean;
}

/** @param usual the states that count where none are named */
function compileSelector(
  given: unknown,
  at: string,
  { usual, rule }: { readonly usual?: readonly PastState[]; readonly rule?: RuleSelector } = {},
): Selector {
  if (rule === undefined) checkFields(given, at, selectorFields);
  const { tool, action, state, same, samePath } = given as PastSelector; // each field is checked here
  if (rule === undefined && tool === undefined && action === undefined)
    throw invalid(`The ${at} names no call; give it a \`tool\`.`);
  const named =
    rule === undefined || tool !== undefined ? { tool, action } : { ...rule, ...(action !== undefined && { action }) };
  const fitsTool = checkedPattern(named.tool, `\`tool\` of ${at}`);
  const fitsAction = checkedPattern(named.action, `\`action\` of ${at}`);
  const fitsServer = checkedPattern("server" in named ? named.server : undefined, at);
  const wantedStates = state === undefined ? usual : checkedStates(state, at);
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

function checkedStates(state: unknown, at: string): readonly PastState[] {
  const list: readonly unknown[] = Array.isArray(state) ? state : [state];
  if (list.length > 0 && list.every((one) => states.includes(one))) return list as readonly PastState[]; // just checked
  throw invalid(`\`state\` of ${at} is \`${JSON.stringify(state)}\`; it is one or more of ${states.join(", ")}.`);
}

function checkedMost(value: unknown, at: string): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw invalid(`\`atMost\` of ${at} is \`${String(value)}\`; it is a number from 0 on.`);
}

function checkedPattern(pattern: string | undefined, at: string): (name: string | undefined) => boolean {
  if (pattern === undefined) return () => true;
  if (typeof pattern !== "string" || pattern === "" || !pattern.isWellFormed())
    throw invalid(`${at} is \`${String(pattern)}\`; it is a name, in which \`*\` stands for anything.`);
  const fits = globMatcher(pattern);
  return (name) => name !== undefined && fits(name);
}

function checkFields(value: unknown, at: string, known: readonly string[]): void {
  for (const [name] of fieldsOf(value, at))
    if (!known.includes(name)) throw invalid(`\`${name}\` of ${at} is not known; it has ${known.join(", ")}.`);
}
