/** What must be the same in this call and in an earlier one. */
import type { Json, JsonObject } from "../calls/json.ts";
import { type ArgumentPath, parsePath, wrong } from "./argument-path.ts";
import { canonicalParts } from "./canonical-path.ts";
import { fieldsOf, invalid } from "./checking.ts";

/** A path whose text does not say where it leads. */
export const unclear: unique symbol = Symbol("unclear");
type Compared = Json | undefined | typeof unclear;

export interface Pair {
  readonly here: ArgumentPath;
  readonly there: ArgumentPath;
  readonly valueAt: (path: ArgumentPath, args: JsonObject) => Compared;
}

export function isNothing(value: Compared): boolean {
  return value === undefined || value === unclear;
}

/** `a`, `./a` and `a//` are one. */
function fileAt(path: ArgumentPath, args: JsonObject): Compared {
  const value = scalarAt(path, args);
  return typeof value === "string" ? (canonicalParts(value)?.join("/") ?? unclear) : undefined;
}

/** Lists and objects are not compared: undefined, like what is missing. */
function scalarAt(path: ArgumentPath, args: JsonObject): Json | undefined {
  const value = path.one(args);
  return value === wrong || (typeof value === "object" && value !== null) ? undefined : (value as Json | undefined); // `wrong` is excluded
}

function pairsOf(given: unknown, at: string, valueAt: Pair["valueAt"]): readonly Pair[] {
  if (given === undefined) return [];
  const pairs = typeof given === "string" ? [[given, given] as const] : fieldsOf(given, at);
  return pairs.map((pair) => {
    const [here, there] = [parsePath(pair[0], at), parsePath(pair[1], at)];
    if (here.many || there.many) throw invalid(`${at} has a \`[*]\`; it compares single values.`);
    return { here, there, valueAt };
  });
}

/** @throws RuntimeFault `policy_invalid` */
export function samePairs(same: unknown, samePath: unknown, at: string): readonly Pair[] {
  return [...pairsOf(same, `\`same\` of ${at}`, scalarAt), ...pairsOf(samePath, `\`samePath\` of ${at}`, fileAt)];
}
