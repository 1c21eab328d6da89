/**
 * What a rule asks of the arguments of a call.
 *
 * Invariant: a rule is read against whoever would profit from doubt. An `allow` needs every value to fit and to be there;
 * a `deny` applies as soon as one value fits, is missing or cannot be judged. Next: argument-path.ts, canonical-path.ts, url-host.ts.
 */
import type { Json, JsonObject } from "../../calls/json.ts";
import { fieldsOf, invalid } from "../checking.ts";
import { type ArgumentPath, type Found, missing, parsePath, wrong } from "./argument-path.ts";
import { type Answer, conditionKinds, type Make, type Test, worst } from "./condition-kinds.ts";

/** All that is given must hold. Text is compared in its own case; a value of another kind than is asked for cannot be judged. */
export interface PlainCondition {
  /** Any JSON value; lists and objects as a whole, whatever the order of their names. */
  readonly equals?: Json;
  readonly oneOf?: readonly Json[];
  /** Text in which `*` stands for any run of characters. Not for paths and URLs: `path` and `host` know how those lie. */
  readonly like?: string | readonly string[];
  /** Beside `like`: upper and lower case are the same. */
  readonly ignoreCase?: boolean;
  /** A canonical POSIX path: `*` stays inside one component, `**` is any number of them. */
  readonly path?: string | readonly string[];
  /** Where the tool takes relative paths to begin; without it a relative value cannot be held against an absolute pattern. */
  readonly relativeTo?: string;
  /** Host of an absolute URL: `example.com`, or `*.example.com` for everything beneath it. */
  readonly host?: string | readonly string[];
  readonly above?: number;
  readonly atLeast?: number;
  readonly below?: number;
  readonly atMost?: number;
  /** Of a list, or of text in UTF-16 units. */
  readonly length?: { readonly atLeast?: number; readonly atMost?: number };
  /** `false`: the argument must not be there. */
  readonly present?: boolean;
}

/** A condition, or that one does not hold. What cannot be judged stays so under `not`. */
export interface Condition extends PlainCondition {
  readonly not?: PlainCondition;
}

/** By the path into the arguments they speak of. */
export type Conditions = Readonly<Record<string, Condition>>;

/** What an answer is good for: to permit, to deny, to ask. A rule's answer is the intersection of its conditions'. */
export const permits = 1;
export const denies = 2;
export const asks = 4;

/** Bits of `permits`, `denies` and `asks`. */
export type Holds = (args: JsonObject) => number;

const bits: Readonly<Record<Answer, number>> = {
  yes: permits | denies | asks,
  no: 0,
  missing: denies,
  unclear: denies | asks,
};

/** @throws RuntimeFault `policy_invalid` */
export function compileConditions(conditions: unknown, at: string): readonly Holds[] {
  return fieldsOf(conditions, at).map(([text, condition]) => {
    const path = parsePath(text, at);
    const place = `\`${text}\` of ${at}`;
    if (path.many && mentionsPresence(condition))
      throw invalid(`${place} asks for \`present\`; that needs a path without \`[*]\`: ask for the list's \`length\`.`);
    return holdsAt(path, compileCondition(condition, place));
  });
}

function holdsAt(path: ArgumentPath, test: Test): Holds {
  if (path.many) return (args) => together(path.all(args), test);
  return (args) => {
    const value = path.one(args);
    return value === wrong ? bits.unclear : bits[test(value as Json | undefined)]; // `wrong` is one object, compared just before
  };
}

/** All must permit; one is enough to deny or to ask. No value at all is nothing to judge: an empty list denies nobody and permits nothing. */
function together(met: readonly Found[], test: Test): number {
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

function compileCondition(condition: unknown, at: string): Test {
  const fields = fieldsOf(condition, at);
  const given: { readonly [name: string]: unknown } = Object.fromEntries(fields);
  const tests: Test[] = [];
  for (const [name, value] of fields) {
    if (Object.hasOwn(given, modifiers.get(name) ?? "")) continue;
    const place = `\`${name}\` of ${at}`;
    const make = name === "not" ? not : conditionKinds.get(name);
    if (make === undefined)
      throw invalid(
        `\`${name}\` of ${at} is not known; a condition has ${[...conditionKinds.keys()].join(", ")}, not, ignoreCase beside like, relativeTo beside path.`,
      );
    tests.push(make(value, place, given));
  }
  const [first, ...others] = tests;
  if (first === undefined) throw invalid(`The condition ${at} is empty; say what the value must be.`);
  return others.length === 0 ? first : (value) => worst(tests, value);
}

/** Not conditions themselves, but how the one beside them is meant. */
const modifiers: ReadonlyMap<string, string> = new Map([
  ["ignoreCase", "like"],
  ["relativeTo", "path"],
]);

const not: Make = (wanted, at) => {
  if (fieldsOf(wanted, at).some(([name]) => name === "not"))
    throw invalid(`${at} holds another \`not\`; write what it means without the two.`);
  const test = compileCondition(wanted, at);
  return (value) => {
    const answer = test(value);
    if (answer === "yes") return "no";
    return answer === "no" ? "yes" : answer;
  };
};

function mentionsPresence(condition: unknown): boolean {
  const { present, not: other } = Object(condition) as Condition; // only looked at; compileCondition checks it
  return present !== undefined || (Object(other) as PlainCondition).present !== undefined;
}
