import type { Json } from "@postern/core";

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * The kinds of an argument, each with its Cedar type. `read` returns undefined for a value of another kind. `long` is a
 * whole number; `floor` and `ceil` round any number; `present` is whether the argument is given.
 */
export const cedarKinds = {
  string: { type: "String", read: (value: Json) => (isText(value) ? value : undefined) },
  boolean: { type: "Bool", read: (value: Json) => (typeof value === "boolean" ? value : undefined) },
  long: { type: "Long", read: (value: Json) => (Number.isSafeInteger(value) ? Number(value) : undefined) },
  floor: { type: "Long", read: (value: Json) => rounded(value, Math.floor) },
  ceil: { type: "Long", read: (value: Json) => rounded(value, Math.ceil) },
  strings: {
    type: "Set<String>",
    read: (value: Json) => (Array.isArray(value) && value.every(isText) ? value : undefined),
  },
  present: { type: "Bool", read: () => true },
} as const;
export type CedarKind = keyof typeof cedarKinds;

function rounded(value: Json, round: (value: number) => number): number | undefined {
  if (typeof value !== "number") return undefined;
  const most = Number.MAX_SAFE_INTEGER;
  return Math.min(most, Math.max(-most, round(value))) + 0; // + 0: never -0
}
