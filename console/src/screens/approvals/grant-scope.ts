/** What of a call a grant can hold fixed, in the words of a policy's conditions. */
import type { Arguments } from "../../api/approvals.ts";

/** Of one value and of all together, in characters of JSON: what a condition, and what a remembered yes may have. */
export const longestValue = 10_000;
const longestConditions = 100_000;

/** Those whose values can be held, in their order, beside what is held to be absent. */
export function holdable(given: Arguments, absent: readonly string[]): readonly string[] {
  let left = longestConditions - JSON.stringify(conditionsFor({}, [], absent)).length;
  return Object.keys(given).filter((name) => {
    const { length } = JSON.stringify(conditionsFor(given, [name], []));
    if (name === "" || JSON.stringify(given[name]).length > longestValue || length > left) return false;
    left -= length;
    return true;
  });
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
    ...fixed.map((name) => [pathOf(name), { equals: given[name] }] as const),
    ...absent.map((name) => [pathOf(name), { present: false }] as const),
  ]);
}

/** As policies write paths into arguments. */
function pathOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `$.${name}` : `$["${name.replaceAll(/["\\]/g, "\\$&")}"]`;
}
