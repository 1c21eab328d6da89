import { messageOf, RuntimeFault } from "../core/fault.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import { type ResolveSecret, revealer } from "./lend.ts";
import { namePattern } from "./secret-name.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** `secret://connector/key`: stands in a configuration instead of a value. */
export interface SecretReference {
  readonly connector: string;
  readonly key: string;
}

const scheme = "secret://";
const pattern = new RegExp(`${scheme}(?:${namePattern}(?![\\p{L}\\p{N}_/]))?`, "gu");

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

/**
 * Every reference in a configuration, at any depth, each once.
 *
 * @throws RuntimeFault `config_invalid`
 */
export function secretReferences(value: Json): readonly SecretReference[] {
  const found = new Map<string, SecretReference>();
  const walk = (inner: Json): void => {
    if (typeof inner === "string") {
      for (const reference of referencesIn(inner)) found.set(`${reference.connector}/${reference.key}`, reference);
    } else if (Array.isArray(inner)) {
      for (const item of inner as readonly Json[]) walk(item);
    } else if (isJsonObject(inner)) {
      for (const item of Object.values(inner)) walk(item);
    }
  };
  walk(value);
  return [...found.values()];
}

export interface MissingSecret {
  readonly reference: SecretReference;
  readonly problem: string;
}

/**
 * Learns configured secrets before the first call, so that a value pasted into arguments is recognised.
 * Returns the references that have no value: a missing secret stops only what needs it.
 */
export async function learnReferences(
  references: readonly SecretReference[],
  store: SecretStore,
  redactor: Redactor,
): Promise<readonly MissingSecret[]> {
  const resolve = revealer({ secrets: store, redactor });
  const missing: MissingSecret[] = [];
  for (const reference of references) {
    try {
      await resolve(reference.connector, reference.key);
    } catch (error) {
      missing.push({ reference, problem: messageOf(error) });
    }
  }
  return missing;
}
