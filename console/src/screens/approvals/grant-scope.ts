/** The arguments that a grant can fix, as conditions of a policy. */
import type { Arguments } from "../../api/approvals.ts";

/** Characters of JSON: of one value, and of all conditions together. */
export const longestValue = 10_000;
const longestConditions = 100_000;

/** The arguments whose values can be fixed, beside those that must be absent. */
export function fixable(given: Arguments, absent: readonly string[]): readonly string[] {
  let left = longestConditions - JSON.stringify(conditionsFor({}, [], absent)).length;
  return Object.keys(given).filter((name) => {
    const { length } = JSON.stringify(conditionsFor(given, [name], []));
    if (name === "" || JSON.stringify(given[name]).length > longestValue || length > left) return false;
    left -= length;
    return true;
  });
}

/** Arguments of the schema that this call leaves out. */
export function leftOut(given: Arguments, schema: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const properties = schema?.["properties"];
  if (typeof properties !== "object" || properties === null) return [];
  return Object.keys(properties).filter((name) => name !== "" && !Object.hasOwn(given, name));
}

/** Whether the tool takes arguments that its schema does not name. */
export function takesMore(schema: Readonly<Record<string, unknown>> | undefined): boolean {
  return schema?.["additionalProperties"] !== false;
}

/** Each of these exactly as it is given, and none of the absent ones. */
export function conditionsFor(given: Arguments, fixed: readonly string[], absent: readonly string[]): Arguments {
  return Object.fromEntries([
    ...fixed.map((name) => [pathOf(name), { equals: given[name] }] as const),
    ...absent.map((name) => [pathOf(name), { present: false }] as const),
  ]);
}

/** A path as policies write it. */
function pathOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `$.${name}` : `$["${name.replaceAll(/["\\]/g, "\\$&")}"]`;
}
