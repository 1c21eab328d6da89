/** What a walk over a JSON Schema must know: which keywords hold schemas or data, and where a reference leads. */
import type { Json, JsonObject } from "./json.ts";

const dataKeywords: ReadonlySet<string> = new Set(["default", "const", "enum", "examples", "example"]);
/** Keywords whose values are schemas by names of their own: a property may be called `pattern`. */
export const mapKeywords: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"],
]);

/** The value of this keyword is data, so it holds no keywords. */
export function isData(keyword: string): boolean {
  return dataKeywords.has(keyword) || keyword.startsWith("x-");
}

/** A fragment without its percent escapes. */
export function unescaped(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment; // a lone % is no escape
  }
}

/** What a reference within the schema points to, or undefined. The caller looks up anchors. */
export function pointedTo(reference: string, root: JsonObject): Json | undefined {
  const fragment = unescaped(reference.slice(1));
  if (fragment === "") return root;
  if (!fragment.startsWith("/")) return undefined;
  let node: Json | undefined = root;
  for (const step of fragment.slice(1).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    node =
      typeof node === "object" && node !== null && Object.hasOwn(node, name) ? (node as JsonObject)[name] : undefined; // arrays are read by index the same way
  }
  return node;
}
