import { type Backend, environmentBackend, storeOf } from "./backend.ts";
import type { PatternMode, Redactor, SecretStore } from "./secret-store.ts";

/** @public */
export type BackendName = "environment" | "sealed" | "command";
export const backendNames: readonly BackendName[] = ["environment", "sealed", "command"];

/** Where secrets come from, complete: as a configuration says it, with its defaults. */
export interface SecretSettings {
  /** Asked in this order. */
  readonly backends: readonly BackendName[];
  /** Of the sealed file and its key; absolute. */
  readonly file: string;
  readonly keyFile: string;
  /** There when `command` is one of the backends. */
  readonly command: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly patterns: PatternMode;
}

/** @throws RuntimeFault when one of them cannot work */
export async function openSecrets(settings: SecretSettings, redactor: Redactor): Promise<SecretStore> {
  const backends: Backend[] = [];
  for (const name of settings.backends) backends.push(await backendOf(name, { ...settings, redactor }));
  return storeOf(backends, redactor);
}

/** What only some need is loaded when they need it. */
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
