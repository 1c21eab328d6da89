import { RuntimeFault } from "../core/fault.ts";
import { learnNamed } from "./lend.ts";
import { hiddenSecret } from "./secret.ts";
import { checkSecretName } from "./secret-name.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** One place values come from. Several make one store. */
export interface Backend {
  /** Undefined: it has none of this name. Anything else that goes wrong is thrown, and no other place is asked. */
  find(connector: string, key: string): Promise<string | undefined>;
  /** How to give it this secret, as half a sentence: "set …". */
  remedy(connector: string, key: string): string;
}

/**
 * Asks one after the other. What a place gives is known to the redactor before anybody has it.
 *
 * A place that fails ends the search: falling through to an older value would hide the failure.
 */
export function storeOf(backends: readonly Backend[], redactor: Redactor | undefined): SecretStore {
  return {
    async get(connector, key) {
      checkSecretName(connector, key);
      for (const backend of backends) {
        const value = await backend.find(connector, key);
        if (value === undefined) continue;
        if (redactor !== undefined) learnNamed(redactor, value, `${connector}/${key}`);
        return hiddenSecret(() => value);
      }
      const remedies = backends.map((backend) => backend.remedy(connector, key)).join(", or ");
      throw new RuntimeFault("secret_missing", `There is no secret \`${connector}/${key}\`; ${remedies}.`);
    },
  };
}
