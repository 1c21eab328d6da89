import { RuntimeFault } from "../core/fault.ts";
import { hiddenSecret, learnAhead, learnNamed } from "./lend.ts";
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
 * Asks one after the other. The redactor learns a value before it is returned.
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

/** @public */
export interface EnvironmentSecretsOptions {
  /** Learns all values from the start. Without it, each value is learned at its first loan. */
  readonly redactor?: Redactor | undefined;
  /** Default: the process's own. Read at each `get`, so a changed value is the new one. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Default: `POSTERN_SECRET_`. */
  readonly prefix?: string;
}

/**
 * Secrets as variables of the environment. Their values are known to the redactor from the start, borrowed or not.
 *
 * @public
 */
export function environmentSecrets(options: EnvironmentSecretsOptions = {}): SecretStore {
  return storeOf([environmentBackend(options)], options.redactor);
}

export function environmentBackend({
  redactor,
  environment = process.env,
  prefix = "POSTERN_SECRET_",
}: EnvironmentSecretsOptions): Backend {
  const ours = Object.entries(environment).filter(([name]) => name.startsWith(prefix));
  learnAhead(
    redactor,
    ours.map(([, value = ""]) => value),
  );
  return {
    async find(connector, key) {
      const name = secretVariable(connector, key, prefix);
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      return value === "" ? undefined : value;
    },
    remedy: (connector, key) => `set the environment variable \`${secretVariable(connector, key, prefix)}\``,
  };
}

/** The variable a secret is read from: `github-app`, `api.token` → `POSTERN_SECRET_GITHUB_APP_API_TOKEN`. */
export function secretVariable(connector: string, key: string, prefix = "POSTERN_SECRET_"): string {
  const word = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  return `${prefix}${word(connector)}_${word(key)}`;
}
