import { type Backend, storeOf } from "./backend.ts";
import type { Redactor, SecretStore } from "./secret-store.ts";

/** @public */
export interface SealedSecretsOptions {
  /** Absolute path of the sealed file. It need not exist. */
  readonly file: string;
  /** Absolute path of its key, used when `POSTERN_SECRETS_KEY` is not set. */
  readonly keyFile: string;
  /** Learns all values and the key when the file is read. */
  readonly redactor?: Redactor | undefined;
  /** Default: the process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Secrets in a file of age's format, as `postern secrets set` writes it. Read now, and again when it was replaced.
 *
 * @throws RuntimeFault when the file exists and cannot be opened: a wrong key is reported at the start, not at the
 * first call
 *
 * @public
 */
export async function sealedSecrets(options: SealedSecretsOptions): Promise<SecretStore> {
  return storeOf([await sealedBackend(options)], options.redactor);
}

export async function sealedBackend(options: SealedSecretsOptions): Promise<Backend> {
  const { Vault } = await import("./vault.ts"); // loaded only when there is a sealed file
  const vault = new Vault({ environment: process.env, ...options }, options.redactor);
  await vault.current();
  return {
    find: async (connector, key) => (await vault.current()).get(`${connector}/${key}`),
    remedy: (connector, key) => `run \`postern secrets set ${connector} ${key}\``,
  };
}
