/** What must be the same in this call and in an earlier one. */
import { isJsonObject, type Json, type JsonObject } from "../../calls/json.ts";
import { fieldsOf, invalid } from "../checking.ts";
import { type ArgumentPath, parsePath, wrong } from "./argument-path.ts";
import { canonicalParts } from "./canonical-path.ts";

/** A path whose text does not say where it leads, or an artifact that was not read. */
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
  if (value === unclear) return unclear;
  return typeof value === "string" ? (canonicalParts(value)?.join("/") ?? unclear) : undefined;
}

/** Lists and objects are not compared: undefined, like what is missing. An artifact that was not read may hold anything. */
function scalarAt(path: ArgumentPath, args: JsonObject): Compared {
  const value = path.one(args);
  if (value === wrong) return undefined;
  const known = value as Json | undefined; // `wrong` is excluded
  if (isJsonObject(known)) return typeof known["$artifact"] === "string" ? unclear : undefined;
  return Array.isArray(known) ? undefined : known;
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
