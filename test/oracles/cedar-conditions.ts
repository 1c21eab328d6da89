import type { Json } from "../../packages/core/src/json.ts";
import type { CedarKind } from "../../packages/postern/src/policy/cedar/cedar-kinds.ts";
import type { Condition, Conditions, PlainCondition } from "../../packages/postern/src/policy/rules/rule-schema.ts";
import type { CedarArgument } from "../../packages/postern/src/policy/schema.ts";
import { all, any, globbed, not, text, Unsupported } from "./cedar-text.ts";

/** When a rule's conditions permit, deny or ask, as Cedar expressions. */
interface Held {
  readonly permits: string;
  readonly denies: string;
  readonly asks: string;
}

/** Our four answers; a condition that is none of these three is unclear. */
interface Answers {
  readonly yes: string;
  readonly no: string;
  readonly missing: string;
}

/** Collects the conditions of many rules over one set of facts, with one fact for each path and kind. */
export class CedarConditions {
  readonly #facts = new Map<string, { readonly name: string; readonly fact: CedarArgument }>();

  get arguments(): Readonly<Record<string, CedarArgument>> {
    return Object.fromEntries([...this.#facts.values()].map(({ name, fact }) => [name, fact]));
  }

  compile(conditions: Conditions): Held {
    const answers = Object.entries(conditions).map(([path, condition]) => this.#at(path, condition));
    const possible = answers.map(({ no }) => not(no));
    return {
      permits: all(answers.map(({ yes }) => yes)),
      denies: all(possible),
      asks: all([...possible, ...answers.map(({ missing }) => not(missing))]),
    };
  }

  #at(path: string, { not: other, ...condition }: Condition): Answers {
    if (path.includes("[*]")) throw new Unsupported(`\`${path}\` looks at many values`);
    const tests = this.#tests(path, condition);
    if (other !== undefined) {
      const inner = together(this.#tests(path, other));
      tests.push({ yes: inner.no, no: inner.yes, missing: inner.missing });
    }
    return together(tests);
  }

  #tests(path: string, condition: PlainCondition): Answers[] {
    const { equals, oneOf, like, ignoreCase, present, above, atLeast, below, atMost, ...others } = condition;
    const [stranger] = Object.keys(others);
    if (stranger !== undefined) throw new Unsupported(`\`${stranger}\` has no like in Cedar`);
    if (ignoreCase === true) throw new Unsupported("`ignoreCase` has no like in Cedar");
    const tests: Answers[] = [];
    if (equals !== undefined) tests.push(this.#oneOf(path, [equals]));
    if (oneOf !== undefined) tests.push(this.#oneOf(path, oneOf));
    if (like !== undefined)
      tests.push(this.#of(path, ["string"], (at) => any([like].flat().map((one) => globbed(at, one)))));
    if (present !== undefined) {
      if (!/^\$\.[^.[]+$/.test(path)) throw new Unsupported("`present` of what lies deeper than one name");
      const there = this.#fact(path, "present");
      tests.push({ yes: present ? there : not(there), no: present ? not(there) : there, missing: "false" });
    }
    // Rounds to the side on which a whole number decides the same.
    if (above !== undefined) tests.push(this.#of(path, ["ceil"], (at) => `${at} > ${whole(above)}`));
    if (atLeast !== undefined) tests.push(this.#of(path, ["floor"], (at) => `${at} >= ${whole(atLeast)}`));
    if (below !== undefined) tests.push(this.#of(path, ["floor"], (at) => `${at} < ${whole(below)}`));
    if (atMost !== undefined) tests.push(this.#of(path, ["ceil"], (at) => `${at} <= ${whole(atMost)}`));
    return tests;
  }

  #oneOf(path: string, wanted: readonly Json[]): Answers {
    const [first] = wanted;
    if (wanted.some((one) => typeof one === "object" && one !== null))
      throw new Unsupported("lists and objects as a whole");
    if (wanted.some((one) => one === null || typeof one !== typeof first) || first === undefined)
      throw new Unsupported("values of several kinds, null or none at all");
    if (typeof first === "number")
      return this.#of(
        path,
        ["floor", "ceil"],
        (floor, ceil) =>
          any(wanted.map((one) => `${floor} == ${whole(one as number)} && ${ceil} == ${whole(one as number)}`)), // all are of the first's kind
      );
    const kind = typeof first === "string" ? "string" : "boolean";
    return this.#of(path, [kind], (at) =>
      any(wanted.map((one) => (typeof one === "string" ? `${at} == ${text(one)}` : `${at} == ${String(one)}`))),
    );
  }

  /** Returns the answers for an argument of this kind; `says` is the test. */
  #of(
    path: string,
    kinds: readonly [CedarKind, ...CedarKind[]],
    says: (one: string, other: string) => string,
  ): Answers {
    const [first, second = first] = kinds.map((kind) => this.#fact(path, kind)) as [string, ...string[]]; // as many as kinds, which are some
    const has = kinds.map((kind) => `context.args has ${this.#name(path, kind)}`);
    const held = says(first, second);
    return {
      yes: all([...has, held]),
      no: all([...has, not(held)]),
      missing: all([not(has[0] ?? "true"), `!context.unclear.contains(${text(this.#name(path, kinds[0]))})`]),
    };
  }

  #fact(path: string, kind: CedarKind): string {
    return `context.args.${this.#name(path, kind)}`;
  }

  #name(path: string, kind: CedarKind): string {
    const key = `${kind} ${path}`;
    const known = this.#facts.get(key);
    if (known !== undefined) return known.name;
    const name = `${kind}_${this.#facts.size + 1}`;
    this.#facts.set(key, { name, fact: { path, kind, otherwise: "tell" } });
    return name;
  }
}

/** Combines conditions that must all hold: one `no` gives no, and one missing argument gives missing. */
function together(answers: readonly Answers[]): Answers {
  return {
    yes: all(answers.map(({ yes }) => yes)),
    no: any(answers.map(({ no }) => no)),
    missing: any(answers.map(({ missing }) => missing)),
  };
}

function whole(value: number): number {
  if (!Number.isSafeInteger(value)) throw new Unsupported(`\`${value}\` is no whole number that Cedar knows`);
  return value;
}
