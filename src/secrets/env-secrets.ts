import { type Backend, storeOf } from "./backend.ts";
import { learnAhead } from "./lend.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** @public */
export interface EnvironmentSecretsOptions {
  /** Told all values from the start. Without one, each is known from its first loan. */
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
