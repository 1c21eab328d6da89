import { canonical, defined, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { definitionFields, pageFields } from "./definition.ts";
import { reveal } from "./reveal.ts";
import { type DiffRow, textDiff } from "./text-diff.ts";

/** One difference between two definitions. */
export interface Difference {
  /** `title`, `description`, `inputSchema`, `outputSchema`, `annotations`, `name`; of a page `mimeType`, `page`, `text`, `_meta`. */
  readonly field: string;
  /** The place inside the field, as JSON pointer. Left out: the field itself. */
  readonly path?: string;
  /** Left out when it was not there before. */
  readonly before?: Json;
  /** Left out when it is no longer there. */
  readonly after?: Json;
  /** The difference as text for a person, with hidden and misleading characters shown as codes. */
  readonly rows: readonly DiffRow[];
}

const fields = [...definitionFields, ...pageFields];

/** A person reads no more; the digest covers all of them. */
const mostDifferences = 200;

/** Compares field by field, and schemas and annotations value by value. Without `before`, everything is new. */
export function differences(before: JsonObject | undefined, after: JsonObject): readonly Difference[] {
  const found: Difference[] = [];
  for (const field of fields) {
    const [old, fresh] = [before?.[field], after[field]];
    if (isText(old) && isText(fresh) && (old ?? fresh) !== undefined) {
      if (old !== fresh)
        found.push(defined({ field, before: old, after: fresh, rows: textDiff(old ?? "", fresh ?? "") }));
    } else {
      found.push(...inner(field, old, fresh));
    }
  }
  return found.slice(0, mostDifferences);
}

/** The names of the fields that differ. */
export function changedFields(before: JsonObject, after: JsonObject): readonly string[] {
  const text = (value: Json | undefined): string => (value === undefined ? "" : canonical(value));
  return fields.filter((field) => text(before[field]) !== text(after[field]));
}

function isText(value: Json | undefined): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function inner(field: string, before: Json | undefined, after: Json | undefined): readonly Difference[] {
  const [old, fresh] = [leavesOf(before), leavesOf(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].sort().flatMap((path) => {
    const [was, is] = [old.get(path), fresh.get(path)];
    if (was !== undefined && is !== undefined && canonical(was) === canonical(is)) return [];
    const bothTexts = typeof was === "string" && typeof is === "string";
    const rows = bothTexts ? textDiff(was, is) : [...row("-", was), ...row("+", is)];
    return [defined({ field, path: path === "" ? undefined : path, before: was, after: is, rows })];
  });
}

/** Every value that has no members, by its JSON pointer. */
export function leavesOf(value: Json | undefined): ReadonlyMap<string, Json> {
  const leaves = new Map<string, Json>();
  const walk = (path: string, at: Json): void => {
    const steps: readonly (readonly [string, Json])[] = Array.isArray(at)
      ? at.map((item: Json, i): [string, Json] => [String(i), item])
      : isJsonObject(at)
        ? Object.entries(at)
        : [];
    if (steps.length === 0) leaves.set(path, at);
    for (const [name, next] of steps) walk(`${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, next);
  };
  if (value !== undefined) walk("", value);
  return leaves;
}

function row(sign: "-" | "+", value: Json | undefined): readonly DiffRow[] {
  return value === undefined ? [] : [`${sign} ${reveal(typeof value === "string" ? value : canonical(value))}`];
}
