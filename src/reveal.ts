import { learnNamed } from "./secrets/lend.ts";
import type { Redactor, SecretStore } from "./secrets/secret-store.ts";

/** Gives a configured secret's value to what sends it out; every mask knows it from then on, whatever store it comes from. */
export function revealer(parts: {
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
}): (connector: string, key: string) => Promise<string> {
  return async (connector, key) => {
    const value = (await parts.secrets.get(connector, key)).reveal();
    learnNamed(parts.redactor, value, `${connector}/${key}`);
    return value;
  };
}
