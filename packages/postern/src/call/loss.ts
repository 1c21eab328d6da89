/** Finds values that JSON would silently change into null, an empty object or nothing. */
import { isPlain, isScalar, maxDepth } from "@postern/core";

interface Loss {
  readonly what: string;
  readonly path: string;
}

const longestPath = 200;

/** @throws TypeError that names the first value that JSON would change, RangeError when it is nested too deep */
export function refuseLoss(value: unknown): void {
  const loss = lossIn(value, 0);
  if (loss === undefined) return;
  const { path, what } = loss;
  const place = path === "" ? "this" : `\`${path.length > longestPath ? `${path.slice(0, longestPath)}…` : path}\``;
  throw new TypeError(`${place} is ${what}.`);
}

/** Builds the path only on the way back, because usually there is no loss. */
function lossIn(value: unknown, depth: number): Loss | undefined {
  if (value === null || isScalar(value)) return undefined;
  if (typeof value !== "object") return { path: "", what: `${kindOf(value)}, which JSON cannot hold` };
  if (depth > maxDepth) throw new RangeError(`Nested deeper than ${maxDepth} levels.`);
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return undefined; // it defines its own JSON
  if (Array.isArray(value)) return lossInList(value, depth);
  if (!isPlain(value)) return { path: "", what: `${kindOf(value)}, which JSON cannot hold` };
  for (const name of Object.keys(value)) {
    if (name === "__proto__") return { path: name, what: "a name that is not accepted" };
    const inner = (value as Readonly<Record<string, unknown>>)[name]; // neither null nor a list
    if (typeof inner === "string" || inner === undefined) continue; // an undefined member counts as absent
    const loss = lossIn(inner, depth + 1);
    if (loss !== undefined) return { ...loss, path: `${name}${joint(loss.path)}${loss.path}` };
  }
  return undefined;
}

/** Finds holes too: they would become null. */
function lossInList(list: readonly unknown[], depth: number): Loss | undefined {
  for (let i = 0; i < list.length; i += 1) {
    const loss = lossIn(list[i], depth + 1);
    if (loss !== undefined) return { ...loss, path: `[${i}]${joint(loss.path)}${loss.path}` };
  }
  return undefined;
}

function joint(rest: string): string {
  return rest === "" || rest.startsWith("[") ? "" : ".";
}

function kindOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return value === undefined ? "undefined" : `a ${typeof value}`;
  const maker: unknown = value.constructor;
  return `an object of the class \`${typeof maker === "function" ? maker.name.slice(0, 100) : "unknown"}\``;
}
