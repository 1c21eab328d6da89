import type { Json } from "../../calls/json.ts";
import { fieldsOf, invalid } from "../checking.ts";
import { pathMatcher, pathPatternProblem } from "./canonical-path.ts";
import { globMatcher } from "./glob.ts";
import { hostMatcher, hostOf, hostPatternProblem } from "./url-host.ts";
import { checkedValue, isSame } from "./whole-value.ts";

export type Answer = "yes" | "no" | "missing" | "unclear";
export type Test = (value: Json | undefined) => Answer;
/** `beside`: the other fields of the condition. */
export type Make = (wanted: unknown, at: string, beside: { readonly [name: string]: unknown }) => Test;

const order: readonly Answer[] = ["yes", "unclear", "missing", "no"];

/** All must hold: the answer that is furthest from yes. */
export function worst(tests: readonly Test[], value: Json | undefined): Answer {
  let answer: Answer = "yes";
  for (const test of tests) {
    const next = test(value);
    if (order.indexOf(next) > order.indexOf(answer)) answer = next;
  }
  return answer;
}

const atLeast: Make = (wanted, at) => ofNumber(wanted, at, (value, than) => value >= than);
const atMost: Make = (wanted, at) => ofNumber(wanted, at, (value, than) => value <= than);

/** Each kind of condition, compiled from what a rule says; they throw `policy_invalid`. */
const kinds: Readonly<Record<string, Make>> = {
  equals: (wanted, at) => ofValues([checkedValue(wanted, at)]),
  oneOf: (wanted, at) => {
    if (!Array.isArray(wanted)) throw invalid(`${at} is no list.`);
    return ofValues(wanted.map((one) => checkedValue(one, at)));
  },
  like: (wanted, at, { ignoreCase = false }) => {
    if (typeof ignoreCase !== "boolean")
      throw invalid(`\`ignoreCase\` beside ${at} is \`${String(ignoreCase)}\`; it is true or false.`);
    const fits = checkedTexts(wanted, at).map((pattern) => {
      if (pattern.includes("/"))
        throw invalid(`${at} is \`${pattern}\`; text with \`/\` is a path or a URL: use \`path\` or \`host\`.`);
      return globMatcher(ignoreCase ? pattern.toLowerCase() : pattern);
    });
    return ofText((given) => {
      const text = ignoreCase ? given.toLowerCase() : given;
      return fits.some((one) => one(text));
    });
  },
  path: (wanted, at, { relativeTo }) => {
    if (relativeTo !== undefined && !isFolder(relativeTo))
      throw invalid(`\`relativeTo\` beside ${at} is \`${String(relativeTo)}\`; it is a folder such as \`/workspace\`.`);
    const base = relativeTo as string | undefined; // isFolder has just said so
    const patterns = checkedTexts(wanted, at);
    for (const pattern of patterns) {
      const problem = pathPatternProblem(pattern);
      if (problem !== undefined) throw invalid(`${at} is \`${pattern}\`, which is ${problem}.`);
    }
    const judge = pathMatcher(patterns, base);
    return ofText((text) => {
      const answer = judge(text);
      return answer === "unclear" ? undefined : answer === "inside";
    });
  },
  host: (wanted, at) => {
    const fits = checkedTexts(wanted, at).map((pattern) => {
      const problem = hostPatternProblem(pattern);
      if (problem !== undefined) throw invalid(`${at} is \`${pattern}\`, which is ${problem}.`);
      return hostMatcher(pattern);
    });
    return ofText((text) => {
      const host = hostOf(text);
      return host === undefined ? undefined : fits.some((one) => one(host));
    });
  },
  above: (wanted, at) => ofNumber(wanted, at, (value, than) => value > than),
  atLeast,
  below: (wanted, at) => ofNumber(wanted, at, (value, than) => value < than),
  atMost,
  length: (wanted, at) => {
    const fields = fieldsOf(wanted, at);
    const stranger = fields.find(([name]) => name !== "atLeast" && name !== "atMost");
    if (stranger !== undefined) throw invalid(`\`${stranger[0]}\` of ${at} is not known; it has atLeast and atMost.`);
    if (fields.length === 0) throw invalid(`${at} is empty; it has atLeast and atMost.`);
    const tests = fields.map(([name, value]) => (name === "atLeast" ? atLeast : atMost)(value, at, {}));
    return (value) => {
      if (value === undefined) return "missing";
      return typeof value === "string" || Array.isArray(value) ? worst(tests, value.length) : "unclear";
    };
  },
  present: (wanted, at) => {
    if (typeof wanted !== "boolean") throw invalid(`${at} is \`${String(wanted)}\`; it is true or false.`);
    return (value) => ((value !== undefined) === wanted ? "yes" : "no");
  },
};

export const conditionKinds: ReadonlyMap<string, Make> = new Map(Object.entries(kinds));

function isFolder(given: unknown): given is string {
  return typeof given === "string" && !given.includes("*") && pathPatternProblem(given) === undefined;
}

/** `holds` answers undefined when the value's text does not say. */
function ofText(holds: (text: string) => boolean | undefined): Test {
  return (value) => {
    if (value === undefined) return "missing";
    const held = typeof value === "string" ? holds(value) : undefined;
    return held === undefined ? "unclear" : held ? "yes" : "no";
  };
}

function ofNumber(wanted: unknown, at: string, holds: (value: number, than: number) => boolean): Test {
  if (typeof wanted !== "number" || !Number.isFinite(wanted))
    throw invalid(`${at} is \`${String(wanted)}\`; it is a number.`);
  return (value) => {
    if (value === undefined) return "missing";
    return typeof value === "number" ? (holds(value, wanted) ? "yes" : "no") : "unclear";
  };
}

/** A value of a kind that nothing wanted has was not foreseen: it cannot be judged. */
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

function checkedTexts(value: unknown, at: string): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.every((one) => typeof one === "string" && one !== "" && one.isWellFormed()))
    return list as readonly string[]; // just checked
  throw invalid(`${at} is \`${JSON.stringify(value)}\`; it is text, or a list of texts.`);
}
