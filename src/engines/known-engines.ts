import type { Clock } from "../core/clock.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { ResolveSecret } from "../secrets/lend.ts";
import { withSecrets } from "../secrets/secret-reference.ts";
import { type FirecrackerOptions, firecrackerDriver, type KubernetesOptions, kubernetesDriver } from "./hardened.ts";
import type { SandboxDriver } from "./sandbox.ts";

/**
 * An engine of ours, loaded when it is first needed; it is closed with the house, and rejects where a package is missing. It may
 * be told what a script may have at most.
 */
export type LoadEngine = (clock: Clock, memoryBytes?: number) => Promise<SandboxDriver & AsyncDisposable>;

export const knownEngines: ReadonlyMap<string, LoadEngine> = new Map<string, LoadEngine>([
  [
    "quickjs",
    async (clock, memoryBytes) =>
      (await import("./quickjs/driver.ts")).quickJsDriver({
        clock,
        ...(memoryBytes !== undefined && { memoryBytes }),
      }),
  ],
  ["cpython", async (clock) => new (await import("./cpython/cpython.ts")).CpythonDriver({ clock })],
  ["pyodide", async (clock) => new (await import("./cpython/pyodide.ts")).PyodideDriver({ clock })],
  ["runsc", async (clock) => new (await import("./runsc/driver.ts")).RunscDriver({ clock })],
]);

/** What engines that run elsewhere need. They are engines only where they are named in `engines`. */
export interface EngineSettings {
  readonly kubernetes?: KubernetesOptions;
  readonly firecracker?: FirecrackerOptions;
}

/** Undefined: there is no such engine. @throws RuntimeFault `engine_unconfigured` when its settings are missing, once it is loaded */
export function placedEngine(name: string, settings: EngineSettings, resolve: ResolveSecret): LoadEngine | undefined {
  const { kubernetes, firecracker } = settings;
  switch (name) {
    case "kubernetes":
      return async (clock) => {
        const { token, ...rest } = kubernetes ?? unconfigured(name);
        const given = typeof token === "string" ? (): Promise<string> => withSecrets(token, resolve) : token;
        return kubernetesDriver({ clock, ...rest, ...(given !== undefined && { token: given }) });
      };
    case "firecracker":
      return async (clock) => firecrackerDriver({ clock, ...(firecracker ?? unconfigured(name)) });
    default:
      return undefined;
  }
}

function unconfigured(name: string): never {
  throw new RuntimeFault("engine_unconfigured", `it has no settings; give them as \`chains.engine_settings.${name}\``);
}

/** In the order they are tried. Engines that are not in this list run only if `chains.engines` names them. */
export const defaultEngines: readonly string[] = ["quickjs", "cpython", "pyodide"];
