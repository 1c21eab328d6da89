/**
 * `postern/secrets`: secret stores and the redactor.
 *
 * @packageDocumentation
 */

export type { CommandSecretsOptions } from "./command-secrets.ts";
export { commandSecrets } from "./command-secrets.ts";
export type { EnvironmentSecretsOptions } from "./env-secrets.ts";
export { environmentSecrets } from "./env-secrets.ts";
export type { BackendName } from "./open-secrets.ts";
export type { SealedSecretsOptions } from "./sealed-secrets.ts";
export { sealedSecrets } from "./sealed-secrets.ts";
export type { PatternMode, Redactor, Secret, SecretStore } from "./secret-store.ts";
