import { RuntimeFault, secretPathPattern } from "@postern/core";
import type { ResolveSecret } from "./lend.ts";

/** `secret://connector/key`: stands in a configuration instead of a value. */
export interface SecretReference {
  readonly connector: string;
  readonly key: string;
}

const scheme = "secret://";
const pattern = new RegExp(`${scheme}(?:${secretPathPattern}(?![\\p{L}\\p{N}_/]))?`, "gu");

/**
 * The references inside a text: the whole text may be one, or it may contain some, as in `Bearer
 * secret://github/token`.
 *
 * @throws RuntimeFault `config_invalid` for something that looks like a reference and is invalid
 */
export function referencesIn(text: string): readonly SecretReference[] {
  if (!text.includes(scheme)) return [];
  return [...text.matchAll(pattern)].map(([, connector, key]) => {
    if (connector !== undefined && key !== undefined) return { connector, key };
    // The message does not repeat the text: it may be the value itself.
    throw new RuntimeFault(
      "config_invalid",
      "A text with `secret://` in it names no secret; write `secret://connector/key`, both of letters, digits, `.`, `_` and `-`.",
    );
  });
}

/** Replaces each reference by its value. Values are not searched for references. */
export async function withSecrets(text: string, resolve: ResolveSecret): Promise<string> {
  const references = referencesIn(text);
  if (references.length === 0) return text;
  const values = await Promise.all(references.map(({ connector, key }) => resolve(connector, key)));
  let at = -1;
  return text.replace(pattern, () => {
    at += 1;
    return values[at] ?? "";
  });
}
