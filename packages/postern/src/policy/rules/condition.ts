/**
 * What a rule asks of the arguments of a call.
 *
 * Invariant: doubt never helps a call. An `allow` needs every value to exist and to fit; a `deny` applies as soon as one
 * value fits, is missing or cannot be judged. Next: argument-path.ts, canonical-path.ts, core/url-host.ts.
 */
import { hostMatcher, hostOf, hostPatternProblem, type Json, type JsonObject } from "@postern/core";
import { invalid } from "../problem.ts";
import { type ArgumentPath, missing, type PathResult, parsePath, wrong } from "./argument-path.ts";
import { pathMatcher, pathPatternProblem } from "./canonical-path.ts";
import { globMatcher } from "./glob.ts";
import type { Condition, Conditions, PlainCondition } from "./rule-schema.ts";
import { checkedValue, isSame } from "./whole-value.ts";

export type { Conditions } from "./rule-schema.ts";

/** What an answer suffices for: to permit, to deny, to ask. A rule's answer is the intersection of its conditions' answers. */
export const permits = 1;
export const denies = 2;
export const asks = 4;

/** Bits of `permits`, `denies` and `asks`. */
export type ConditionCheck = (args: JsonObject) => number;

/** What one condition says about one value. `missing`: there is no value; `unclear`: its kind cannot be compared. */
type ConditionAnswer = "yes" | "no" | "missing" | "unclear";
type Test = (value: Json | undefined) => ConditionAnswer;

const bits: Readonly<Record<ConditionAnswer, number>> = {
  yes: permits | denies | asks,
  no: 0,
  missing: denies,
  unclear: denies | asks,
};

/** @throws RuntimeFault `policy_invalid` for what the schema cannot check, such as a pattern */
export function compileConditions(conditions: Conditions, at: string): readonly ConditionCheck[] {
  return Object.entries(conditions).map(([text, condition]) => {
    const path = parsePath(text, at);
    const place = `\`${text}\` of ${at}`;
    if (path.many && (condition.present ?? condition.not?.present) !== undefined)
      throw invalid(`${place} asks for \`present\`; that needs a path without \`[*]\`: ask for the list's \`length\`.`);
    return holdsAt(path, compileCondition(condition, place));
  });
}

function holdsAt(path: ArgumentPath, test: Test): ConditionCheck {
  if (path.many) return (args) => together(path.all(args), test);
  return (args) => {
    const value = path.one(args);
    return value === wrong ? bits.unclear : bits[test(value as Json | undefined)]; // `wrong` is one object, compared just before
  };
}

/** All values must permit; one is enough to deny or to ask. An empty list neither denies nor permits. */
function together(met: readonly PathResult[], test: Test): number {
  if (met.length === 0) return 0;
  let all = permits;
  let any = 0;
  for (const one of met) {
    const answer = one === missing ? test(undefined) : one === wrong ? "unclear" : test((one as { value: Json }).value); // the third kind
    all &= bits[answer];
    any |= bits[answer];
  }
  return all | (any & (denies | asks));
}

function compileCondition({ not, ...plain }: Condition, at: string): Test {
  const tests = compilePlain(plain, at);
  if (not !== undefined) {
    const inner = compileCondition(not, `\`not\` of ${at}`);
    const opposite = { yes: "no", no: "yes", missing: "missing", unclear: "unclear" } as const;
    tests.push((value) => opposite[inner(value)]);
  }
  const [first, ...others] = tests;
  if (first === undefined)
    throw invalid(
      `The condition ${at} is empty; say what the value must be. \`ignoreCase\` stands beside \`like\`, \`relativeTo\` beside \`path\`.`,
    );
  return others.length === 0 ? first : (value) => worst(tests, value);
}

function compilePlain(condition: PlainCondition, at: string): Test[] {
  const { equals, oneOf, like, path, host, above, atLeast, below, atMost, length, present } = condition;
  const tests: Test[] = [];
  if (equals !== undefined) tests.push(ofValues([checkedValue(equals, `\`equals\` of ${at}`)]));
  if (oneOf !== undefined) tests.push(ofValues(oneOf.map((one) => checkedValue(one, `\`oneOf\` of ${at}`))));
  if (like !== undefined) tests.push(likeTest([like].flat(), condition.ignoreCase === true, at));
  if (path !== undefined) tests.push(pathTest([path].flat(), condition.relativeTo, at));
  if (host !== undefined) tests.push(hostTest([host].flat(), at));
  if (above !== undefined) tests.push(ofNumber((value) => value > above));
  if (below !== undefined) tests.push(ofNumber((value) => value < below));
  tests.push(...rangeTests({ atLeast, atMost }));
  if (length !== undefined) tests.push(lengthTest(length, at));
  if (present !== undefined) tests.push((value) => ((value !== undefined) === present ? "yes" : "no"));
  return tests;
}

interface Range {
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
}

function rangeTests({ atLeast, atMost }: Range): readonly Test[] {
  return [
    ...(atLeast === undefined ? [] : [ofNumber((value) => value >= atLeast)]),
    ...(atMost === undefined ? [] : [ofNumber((value) => value <= atMost)]),
  ];
}

function lengthTest(length: Range, at: string): Test {
  const tests = rangeTests(length);
  if (tests.length === 0) throw invalid(`\`length\` of ${at} is empty; it has atLeast and atMost.`);
  return (value) => {
    if (value === undefined) return "missing";
    return typeof value === "string" || Array.isArray(value) ? worst(tests, value.length) : "unclear";
  };
}

function likeTest(patterns: readonly string[], ignoreCase: boolean, at: string): Test {
  const slashed = patterns.find((pattern) => pattern.includes("/"));
  if (slashed !== undefined)
    throw invalid(`\`like\` of ${at} is \`${slashed}\`; text with \`/\` is a path or a URL: use \`path\` or \`host\`.`);
  const fits = patterns.map((pattern) => globMatcher(ignoreCase ? pattern.toLowerCase() : pattern));
  return ofText((given) => {
    const text = ignoreCase ? given.toLowerCase() : given;
    return fits.some((one) => one(text));
  });
}

function pathTest(patterns: readonly string[], relativeTo: string | undefined, at: string): Test {
  if (relativeTo !== undefined && (relativeTo.includes("*") || pathPatternProblem(relativeTo) !== undefined))
    throw invalid(
      `\`relativeTo\` beside \`path\` of ${at} is \`${relativeTo}\`; it is a folder such as \`/workspace\`.`,
    );
  refusePatterns(patterns, pathPatternProblem, `\`path\` of ${at}`);
  const judge = pathMatcher(patterns, relativeTo);
  return ofText((text) => {
    const answer = judge(text);
    return answer === "unclear" ? undefined : answer === "inside";
  });
}

function hostTest(patterns: readonly string[], at: string): Test {
  refusePatterns(patterns, hostPatternProblem, `\`host\` of ${at}`);
  const fits = patterns.map(hostMatcher);
  return ofText((text) => {
    const host = hostOf(text);
    return host === undefined ? undefined : fits.some((one) => one(host));
  });
}

function refusePatterns(
  patterns: readonly string[],
  problemOf: (pattern: string) => string | undefined,
  at: string,
): void {
  for (const pattern of patterns) {
    const problem = problemOf(pattern);
    if (problem !== undefined) throw invalid(`${at} is \`${pattern}\`, which is ${problem}.`);
  }
}

const order: readonly ConditionAnswer[] = ["yes", "unclear", "missing", "no"];

/** All must hold, so the answer that is furthest from yes counts. */
function worst(tests: readonly Test[], value: Json | undefined): ConditionAnswer {
  let answer: ConditionAnswer = "yes";
  for (const test of tests) {
    const next = test(value);
    if (order.indexOf(next) > order.indexOf(answer)) answer = next;
  }
  return answer;
}

/** `holds` returns undefined when the text does not decide it. */
function ofText(holds: (text: string) => boolean | undefined): Test {
  return (value) => {
    if (value === undefined) return "missing";
    const held = typeof value === "string" ? holds(value) : undefined;
    return held === undefined ? "unclear" : held ? "yes" : "no";
  };
}

function ofNumber(holds: (value: number) => boolean): Test {
  return (value) => {
    if (value === undefined) return "missing";
    return typeof value === "number" ? (holds(value) ? "yes" : "no") : "unclear";
  };
}

/** A value whose kind none of the wanted values has cannot be judged. */
function ofValues(wanted: readonly Json[]): Test {
  const kinds = new Set(wanted.filter((one) => one !== null).map(kindOf));
  const scalars: ReadonlySet<Json> = new Set(wanted.filter((one) => !isWhole(one)));
  const wholes = wanted.filter(isWhole);
  return (value) => {
    if (value === undefined) return "missing";
    if (value === null) return scalars.has(null) ? "yes" : "unclear";
    if (isWhole(value)) {
      if (!kinds.has(kindOf(value))) return "unclear";
      return wholes.some((one) => isSame(one, value)) ? "yes" : "no";
    }
    return kinds.size === 0 || kinds.has(typeof value) ? (scalars.has(value) ? "yes" : "no") : "unclear";
  };
}

function isWhole(value: Json): boolean {
  return typeof value === "object" && value !== null;
}

function kindOf(value: Json): string {
  return Array.isArray(value) ? "list" : typeof value;
}
