/** What a new policy changes, in words for people and for the audit log. */
import { canonical, isRecord, type Json, toSnakeCase } from "@postern/core";
import type { PolicySet } from "../current-policy.ts";
import type { Guardrail } from "../guardrails/guardrails.ts";
import type { ExtraLayer } from "../policy.ts";
import { policyOpaque } from "../schema.ts";

/** More changes than this are only counted. */
const mostChanges = 100;
/** Longest value in a sentence, in characters. */
const longestValue = 200;

/** One sentence a change, in the order of the file. Places in files are no change. */
export function policyChanges(before: PolicySet, after: PolicySet): readonly string[] {
  const changes = [
    ...sectionChanges(before, after),
    ...listChanges("The guardrail", named(before.givenGuardrails), named(after.givenGuardrails)),
    ...valueChanges("autonomy", before.autonomy ?? null, after.autonomy ?? null),
  ];
  const more = changes.length - mostChanges;
  return more <= 0 ? changes : [...changes.slice(0, mostChanges), `${more} more changes are not listed.`];
}

function sectionChanges({ given: before, policy: old }: PolicySet, { given: after, policy }: PolicySet): string[] {
  if ("decide" in before || "decide" in after)
    return old.version === policy.version ? [] : [`The policy was ${old.version} and is ${policy.version} now.`];
  const { also: oldLayers = [], ...oldRest } = before;
  const { also: layers = [], ...rest } = after;
  const [from, to] = [inFileCase(oldRest), inFileCase(rest)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return [
    ...names.flatMap((name) => memberChanges(name, from[name] ?? null, to[name] ?? null)),
    ...listChanges("The layer", layersByName(oldLayers), layersByName(layers)),
  ];
}

function inFileCase(options: object): Readonly<Record<string, Json>> {
  return JSON.parse(JSON.stringify(toSnakeCase(options, policyOpaque))) as Record<string, Json>; // createPolicy checked that it is data
}

function memberChanges(name: string, from: Json, to: Json): string[] {
  if (name === "rules" || name === "runtime") return listChanges("The rule", byLabel(from), byLabel(to));
  if (name === "sandbox") return listChanges("The sandbox constraint", byLabel(from), byLabel(to));
  return valueChanges(`policy.${name}`, from, to);
}

/** Down to the values that differ. */
function valueChanges(path: string, from: Json, to: Json): string[] {
  if (canonical(from) === canonical(to)) return [];
  if (isRecord(from) && isRecord(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return names.flatMap((name) => valueChanges(`${path}.${name}`, from[name] ?? null, to[name] ?? null));
  }
  return [`\`${path}\` was ${valueText(from)} and is ${valueText(to)} now.`];
}

function valueText(value: Json): string {
  if (value === null) return "not set";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `\`${text.length > longestValue ? `${text.slice(0, longestValue).toWellFormed()}…` : text}\``;
}

/** By what people call it. Two of one name get a number. */
type Labelled = ReadonlyMap<string, unknown>;

function listChanges(what: string, from: Labelled, to: Labelled): string[] {
  const changes: string[] = [];
  for (const [label, value] of to)
    if (!from.has(label)) changes.push(`${what} ${label} is added.`);
    else if (from.get(label) !== value) changes.push(`${what} ${label} is changed.`);
  for (const label of from.keys()) if (!to.has(label)) changes.push(`${what} ${label} is removed.`);
  return changes;
}

function labelled<Item>(items: readonly Item[], labelOf: (item: Item) => string, contentOf: (item: Item) => unknown) {
  const found = new Map<string, unknown>();
  for (const item of items) {
    const label = labelOf(item);
    let own = label;
    for (let number = 2; found.has(own); number += 1) own = `${label} (${number})`;
    found.set(own, contentOf(item));
  }
  return found;
}

function byLabel(list: Json): Labelled {
  const items = Array.isArray(list) ? (list as readonly Json[]).filter((one) => isRecord(one)) : [];
  return labelled(items, ruleLabel, ({ where: _, ...rest }) => canonical(rest));
}

/** Its id, else its content: a rule without an id that is changed is removed and another one added. */
function ruleLabel({ where: _, id, ...rest }: Readonly<Record<string, Json>>): string {
  return valueText(typeof id === "string" ? id : JSON.stringify(rest));
}

function layersByName(layers: readonly ExtraLayer[]): Labelled {
  return labelled(
    layers,
    ({ name }) => valueText(name),
    ({ version }) => version,
  );
}

/** A guardrail is code: another object is another guardrail. */
function named(guardrails: readonly Guardrail[]): Labelled {
  return labelled(
    guardrails,
    ({ name, on }) => `${valueText(name)} on ${on}`,
    (one) => one,
  );
}
