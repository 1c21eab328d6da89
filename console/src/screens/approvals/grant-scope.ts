/** What of a call a grant can hold fixed, in the words of a policy's conditions. */
import type { Arguments } from "../../api/approvals.ts";

/** A longer list is as many conditions. */
const longestList = 50;

/** Plain values, and lists of them: a condition compares no objects. */
export function isHoldable(name: string, value: unknown): boolean {
  return name !== "" && isFixable(value);
}

function isFixable(value: unknown): boolean {
  return Array.isArray(value) ? value.length <= longestList && value.every(isPlain) : isPlain(value);
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** What the tool takes and this call leaves out. */
export function leftOut(given: Arguments, schema: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const properties = schema?.["properties"];
  if (typeof properties !== "object" || properties === null) return [];
  return Object.keys(properties).filter((name) => name !== "" && !Object.hasOwn(given, name));
}

/** Whether it takes what its schema does not name. */
export function takesMore(schema: Readonly<Record<string, unknown>> | undefined): boolean {
  return schema?.["additionalProperties"] !== false;
}

/** Each of these exactly as it is given, and none of the absent ones. */
export function conditionsFor(given: Arguments, fixed: readonly string[], absent: readonly string[]): Arguments {
  return Object.fromEntries([
    ...fixed.flatMap((name) => same(pathOf(name), given[name])),
    ...absent.map((name) => [pathOf(name), { present: false }] as const),
  ]);
}

function same(path: string, value: unknown): readonly (readonly [path: string, condition: object])[] {
  if (!Array.isArray(value)) return [[path, { equals: value }]];
  const { length } = value;
  return [
    [path, { length: { at_least: length, at_most: length } }],
    ...value.map((item: unknown, at) => [`${path}[${at}]`, { equals: item }] as const),
  ];
}

/** As policies write paths into arguments. */
function pathOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `$.${name}` : `$["${name.replaceAll(/["\\]/g, "\\$&")}"]`;
}
