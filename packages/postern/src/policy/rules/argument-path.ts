import type { Json, JsonObject } from "@postern/core";
import { invalid } from "../problem.ts";

/** `$.to`, `$.items[*].amount`, `$.items[0]`, `$["odd name"]`: a path into the arguments. Undefined stands for `[*]`. */
export type PathStep = string | number | undefined;

/** What a path leads to. `missing`: a field or an element does not exist; `wrong`: a step does not fit the value. */
export type PathResult = { readonly found: "value"; readonly value: Json } | typeof missing | typeof wrong;
export const missing = { found: "missing" } as const;
export const wrong = { found: "wrong" } as const;

export interface ArgumentPath {
  readonly text: string;
  /** It has a `[*]`: there may be many values, or none. */
  readonly many: boolean;
  /** The value, or undefined if it is missing. Only for paths that are not `many`. */
  readonly one: (args: JsonObject) => Json | undefined | typeof wrong;
  /** All values of the path. An empty list under `[*]` gives none. */
  readonly all: (args: JsonObject) => readonly PathResult[];
}

const step = /\.([\p{L}\p{N}_-]+)|\[(\d{1,9}|\*)\]|\["((?:[^"\\]|\\["\\])+)"\]/uy;

/** @throws RuntimeFault `policy_invalid` */
export function parsePath(text: unknown, at: string): ArgumentPath {
  const steps = typeof text === "string" ? stepsOf(text) : undefined;
  if (typeof text !== "string" || steps === undefined) {
    throw invalid(
      `\`${String(text)}\` in ${at} is not a path; write \`$.name\`, \`$.list[0]\`, \`$.list[*].name\` or \`$["odd name"]\`.`,
    );
  }
  const many = steps.includes(undefined);
  return {
    text,
    many,
    one: (args) => oneAt(args, steps),
    all: (args) => {
      const met: PathResult[] = [];
      collect(args, steps, met);
      return met;
    },
  };
}

function stepsOf(text: string): readonly PathStep[] | undefined {
  if (!text.startsWith("$") || text.length === 1 || !text.isWellFormed()) return undefined;
  const steps: PathStep[] = [];
  step.lastIndex = 1;
  for (let end = 1; end < text.length; end = step.lastIndex) {
    const met = step.exec(text);
    if (met === null) return undefined;
    const [, name, index, quoted] = met;
    if (index !== undefined) steps.push(index === "*" ? undefined : Number(index));
    else steps.push(name ?? quoted?.replaceAll(/\\(["\\])/g, "$1"));
  }
  // A path begins with a name: arguments are an object. Only `[*]` makes an undefined step, since one of the groups has matched.
  return typeof steps[0] === "string" ? steps : undefined;
}

function oneAt(args: JsonObject, steps: readonly PathStep[]): Json | undefined | typeof wrong {
  let value: Json | undefined = args;
  for (const step of steps) {
    const next: Json | undefined | typeof wrong = stepInto(value, step);
    if (next === undefined || next === wrong) return next;
    value = next as Json; // not `wrong`: compared just above
  }
  return value;
}

function stepInto(value: Json, step: PathStep): Json | undefined | typeof wrong {
  if (typeof value !== "object" || value === null) return wrong;
  if (typeof step === "number") return Array.isArray(value) ? (value as readonly Json[])[step] : wrong;
  if (Array.isArray(value) || step === undefined) return wrong;
  return Object.hasOwn(value, step) ? (value as JsonObject)[step] : undefined; // neither null nor an array
}

function collect(value: Json, steps: readonly PathStep[], met: PathResult[]): void {
  let here = value;
  for (let i = 0; i < steps.length; i += 1) {
    const step = steps[i];
    if (step === undefined) {
      const rest = steps.slice(i + 1);
      if (!Array.isArray(here)) met.push(wrong);
      else for (const element of here as readonly Json[]) collect(element, rest, met);
      return;
    }
    const next = stepInto(here, step);
    if (next === undefined || next === wrong) {
      met.push(next === undefined ? missing : wrong);
      return;
    }
    here = next as Json; // not `wrong`: compared just above
  }
  met.push({ found: "value", value: here });
}
