import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { isJsonObject, type Json } from "../calls/json.ts";
import { learnNamed } from "./lend.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** `secret://connector/key`: what a configuration says instead of a value. */
export interface SecretReference {
  readonly connector: string;
  readonly key: string;
}

const scheme = "secret://";
const form = /^secret:\/\/([A-Za-z0-9._-]{1,128})\/([A-Za-z0-9._-]{1,128})$/;

/**
 * Undefined when the text is something else.
 *
 * @throws RuntimeFault `secret_reference_invalid` when it is meant as a reference and is none
 */
export function parseSecretReference(text: string): SecretReference | undefined {
  if (!text.startsWith(scheme)) return undefined;
  const [, connector, key] = form.exec(text) ?? [];
  if (connector === undefined || key === undefined) {
    // The text stays unsaid: somebody may have put the value where its name belongs.
    throw new RuntimeFault(
      "secret_reference_invalid",
      "A text that begins with `secret://` is no secret's name; write `secret://connector/key`, both of letters, digits, `.`, `_` and `-`.",
    );
  }
  return { connector, key };
}

/**
 * Every reference in a configuration, at any depth, each once.
 *
 * @throws RuntimeFault `secret_reference_invalid`
 */
export function secretReferences(value: Json): readonly SecretReference[] {
  const found = new Map<string, SecretReference>();
  const walk = (inner: Json): void => {
    if (typeof inner === "string") {
      const reference = parseSecretReference(inner);
      if (reference !== undefined) found.set(inner, reference);
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
 * Makes configured secrets known before the first call, so that a value somebody pastes into arguments is recognised.
 * Gives back those that cannot be had: a missing one stops what needs it, not everything else.
 */
export async function learnReferences(
  references: readonly SecretReference[],
  store: SecretStore,
  redactor: Redactor,
): Promise<readonly MissingSecret[]> {
  const missing: MissingSecret[] = [];
  for (const reference of references) {
    const { connector, key } = reference;
    try {
      learnNamed(redactor, (await store.get(connector, key)).reveal(), `${connector}/${key}`);
    } catch (error) {
      missing.push({ reference, problem: messageOf(error) });
    }
  }
  return missing;
}
