import { RuntimeFault } from "@postern/core";
import { hiddenSecret, learnAhead, learnNamed } from "./lend.ts";
import { checkSecretName } from "./secret-name.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** One source of values. Several sources make one store. */
export interface Backend {
  /** Returns undefined when it has no such secret. It throws any other problem, and then no other source is asked. */
  find(connector: string, key: string): Promise<string | undefined>;
  /** How to add this secret to the source, as half a sentence: "set …". */
  remedy(connector: string, key: string): string;
}

/**
 * Asks one source after the other. The redactor learns a value before it is returned.
 * A source that fails ends the search, because an older value from the next source would hide the failure.
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
  /** Learns all values at the start. Without it, each value is learned at its first loan. */
  readonly redactor?: Redactor | undefined;
  /** Default: the process's environment. Read at each `get`, so changes count. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Default: `POSTERN_SECRET_`. */
  readonly prefix?: string;
}

/**
 * Secrets from environment variables. The redactor knows their values from the start, also before they are borrowed.
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

/** The environment variable of a secret: `github-app`, `api.token` → `POSTERN_SECRET_GITHUB_APP_API_TOKEN`. */
export function secretVariable(connector: string, key: string, prefix = "POSTERN_SECRET_"): string {
  const word = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "_");
  return `${prefix}${word(connector)}_${word(key)}`;
}
