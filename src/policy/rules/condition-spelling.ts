/** Rules and conditions are snake_case in files and on the wire, camelCase inside. */
import type { Condition } from "./condition.ts";
import type { HistoryLimit, PastSelector } from "./history-limit.ts";
import type { SandboxConstraint } from "./sandbox.ts";

/** Every key that has two spellings. Paths into arguments begin with `$` and are none of them. */
const inside: ReadonlyMap<string, string> = new Map<
  string,
  keyof (Condition & HistoryLimit & PastSelector & SandboxConstraint)
>([
  ["one_of", "oneOf"],
  ["ignore_case", "ignoreCase"],
  ["relative_to", "relativeTo"],
  ["at_least", "atLeast"],
  ["at_most", "atMost"],
  ["same_path", "samePath"],
  ["window_seconds", "windowSeconds"],
]);
const outside: ReadonlyMap<string, string> = new Map([...inside].map(([file, own]) => [own, file]));

/** What stands there is an argument's own: its names are nobody's to respell. */
const values: ReadonlySet<string> = new Set(["equals", "oneOf", "one_of"]);

/** Without the fields whose value is undefined, at any depth. */
export function inTypeScript(value: unknown): unknown {
  return respelled(value, inside);
}

export function onTheWire(value: unknown): unknown {
  return respelled(value, outside);
}

function respelled(value: unknown, spellings: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => respelled(one, spellings));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(
    fields.map(([key, field]) => [spellings.get(key) ?? key, values.has(key) ? field : respelled(field, spellings)]),
  );
}
