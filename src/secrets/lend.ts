import { RuntimeFault } from "../calls/fault.ts";
import { hiddenSecret } from "./secret.ts";
import type { Redactor, Secret, SecretStore } from "./secret-store.ts";

/** A store for one call. After `end` it gives nothing, and what it gave shows nothing any more. */
export interface Loan extends SecretStore {
  end(): void;
}

/**
 * Every value is known to the redactor before the borrower has it, whatever back end it comes from.
 *
 * Contract: `end` never throws and may be called twice; a `get` that is under way when it comes rejects.
 */
export function lend(store: SecretStore, redactor: Redactor): Loan {
  let over = false;
  const open = (): void => {
    if (over)
      throw new RuntimeFault(
        "secret_returned",
        "This call is over, and with it the loan of its secrets; ask for the secret in the next call.",
      );
  };
  return {
    async get(connector: string, key: string): Promise<Secret> {
      open();
      const value = (await store.get(connector, key)).reveal();
      open();
      learnNamed(redactor, value, `${connector}/${key}`);
      return hiddenSecret(() => {
        open();
        return value;
      });
    },
    end: () => {
      over = true;
    },
  };
}

/** @throws RuntimeFault `secret_too_short`, which names the secret and never its value */
export function learnNamed(redactor: Redactor, value: string, name: string): void {
  try {
    redactor.learn(value);
  } catch (cause) {
    throw new RuntimeFault(
      "secret_too_short",
      `The secret \`${name}\` cannot be masked reliably, so it cannot be used: it needs at least 6 characters.`,
      { cause },
    );
  }
}
