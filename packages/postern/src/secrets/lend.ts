import { inspect } from "node:util";
import { RuntimeFault } from "@postern/core";
import { isMaskable, tooShort } from "./secret-name.ts";
import type { Redactor, Secret, SecretStore } from "./secret-store.ts";

/** A store for one call. After `end` it gives no values, and the values it gave become unreadable. */
interface Loan extends SecretStore {
  end(): void;
}

/**
 * The redactor knows every value before the borrower has it, from any source.
 * Contract: `end` never throws and may be called twice; a `get` that is running then rejects.
 */
export function lend(store: SecretStore, redactor: Redactor): Loan {
  let over = false;
  const open = (): void => {
    if (over)
      throw new RuntimeFault(
        "internal",
        "This call has ended, and so has the loan of its secrets; ask for the secret in the next call.",
      );
  };
  /** Each value is read once a call: a command runs once, and a changed value counts from the next call. */
  const lent = new Map<string, Promise<string>>();
  const borrow = revealer({ secrets: store, redactor });
  const loan: Loan = {
    async get(connector: string, key: string): Promise<Secret> {
      open();
      const name = JSON.stringify([connector, key]);
      const asked = lent.get(name) ?? borrow(connector, key);
      lent.set(name, asked);
      asked.catch(() => lent.delete(name)); // the waiting caller gets the error
      const value = await asked;
      open();
      return hiddenSecret(() => {
        open();
        return value;
      });
    },
    end: () => {
      over = true;
      lent.clear();
    },
  };
  redactors.set(loan, redactor);
  return loan;
}

const redactors = new WeakMap<SecretStore, Redactor>();

/** For a tool with secrets of its own: the redactor of its results learns them. */
export function learnIn(loan: SecretStore, values: Iterable<string>): void {
  learnAhead(redactors.get(loan), values);
}

/** Returns the value of `secret://connector/key`. */
export type ResolveSecret = (connector: string, key: string) => Promise<string>;

/** Resolves the secrets that a configuration names. The redactor learns each value before it is returned. */
export function revealer({
  secrets,
  redactor,
}: {
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
}): ResolveSecret {
  return async (connector, key) => {
    const value = (await secrets.get(connector, key)).reveal();
    learnNamed(redactor, value, `${connector}/${key}`);
    return value;
  };
}

/** Learns values before they are requested. Values that are too short are skipped here and refused when requested. */
export function learnAhead(redactor: Redactor | undefined, values: Iterable<string>): void {
  for (const value of values) if (isMaskable(value)) redactor?.learn(value);
}

/** @throws RuntimeFault `request_invalid`, which names the secret and never its value */
export function learnNamed(redactor: Redactor, value: string, name: string): void {
  try {
    redactor.learn(value);
  } catch (cause) {
    throw tooShort(name, cause);
  }
}

/** A value behind `reveal`. `read` runs each time, so that the loan can end it. */
export function hiddenSecret(read: () => string): Secret {
  const show = (): string => "[secret]";
  return Object.freeze({
    reveal: () => read(),
    toString: show,
    toJSON: show,
    [inspect.custom]: show,
  });
}
