import { type Backend, environmentBackend, storeOf } from "./backend.ts";
import type { PatternMode, Redactor, SecretStore } from "./secret-store.ts";

/** @public */
export type BackendName = "environment" | "sealed" | "command";
export const backendNames: readonly BackendName[] = ["environment", "sealed", "command"];

/** The complete settings of secrets, with defaults. */
export interface SecretSettings {
  /** The sources, in the order in which they are asked. */
  readonly backends: readonly BackendName[];
  /** Absolute paths of the sealed file and its key. */
  readonly file: string;
  readonly keyFile: string;
  /** Required when `command` is one of the sources. */
  readonly command: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly patterns: PatternMode;
}

/** @throws RuntimeFault when a source cannot work */
export async function openSecrets(settings: SecretSettings, redactor: Redactor): Promise<SecretStore> {
  const backends: Backend[] = [];
  for (const name of settings.backends) backends.push(await backendOf(name, { ...settings, redactor }));
  return storeOf(backends, redactor);
}

/** Loads the code of a source only when it is used. */
async function backendOf(
  name: BackendName,
  options: SecretSettings & { readonly redactor: Redactor },
): Promise<Backend> {
  switch (name) {
    case "environment":
      return environmentBackend({ redactor: options.redactor });
    case "sealed":
      return (await import("./sealed-secrets.ts")).sealedBackend(options);
    case "command":
      return (await import("./command-secrets.ts")).commandBackend(options);
    default:
      return name satisfies never;
  }
}
