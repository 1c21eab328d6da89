/**
 * `postern/secrets`: secret stores and the redactor.
 *
 * @packageDocumentation
 */

export type { EnvironmentSecretsOptions } from "./backend.ts";
export { environmentSecrets } from "./backend.ts";
export type { CommandSecretsOptions } from "./command-secrets.ts";
export { commandSecrets } from "./command-secrets.ts";
export type { BackendName } from "./open-secrets.ts";
export type { SealedSecretsOptions } from "./sealed-secrets.ts";
export { sealedSecrets } from "./sealed-secrets.ts";
export type { PatternMode, Redactor, Secret, SecretStore } from "./secret-store.ts";
