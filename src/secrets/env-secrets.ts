import { RuntimeFault } from "../calls/fault.ts";
import { learnNamed } from "./lend.ts";
import { hiddenSecret } from "./secret.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

export interface EnvironmentSecretsOptions {
  readonly redactor: Redactor;
  /** Default: the process's own. Read at each `get`, so a changed value is the new one. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Default: `POSTERN_SECRET_`. */
  readonly prefix?: string;
}

/** Secrets as variables of the environment. Their values are known to the redactor from the start, borrowed or not. */
export function environmentSecrets({
  redactor,
  environment = process.env,
  prefix = "POSTERN_SECRET_",
}: EnvironmentSecretsOptions): SecretStore {
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value.length >= 6 && name.startsWith(prefix)) redactor.learn(value); // shorter ones are refused when asked for
  }
  return {
    async get(connector, key) {
      const name = secretVariable(connector, key, prefix);
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      if (value === undefined || value === "") {
        throw new RuntimeFault(
          "secret_missing",
          `There is no secret \`${connector}/${key}\`; set the environment variable \`${name}\`.`,
        );
      }
      learnNamed(redactor, value, name);
      return hiddenSecret(() => value);
    },
  };
}

/** The variable a secret is read from: `github-app`, `api.token` → `POSTERN_SECRET_GITHUB_APP_API_TOKEN`. */
export function secretVariable(connector: string, key: string, prefix = "POSTERN_SECRET_"): string {
  const word = (name: string): string =>
    String(name)
      .toUpperCase()
      .replace(/[^A-Z0-9]/g, "_");
  return `${prefix}${word(connector)}_${word(key)}`;
}
