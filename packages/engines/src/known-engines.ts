/** The engines by name. Each is loaded when it is first needed. */
import { type Clock, RuntimeFault } from "@postern/core";
import type { SandboxDriver } from "@postern/core/sandbox";
import type { FirecrackerOptions } from "./remote/firecracker/driver.ts";
import type { AccessOptions } from "./remote/kubernetes/access.ts";
import type { KubernetesOptions } from "./remote/kubernetes/driver.ts";
import type { QemuOptions } from "./remote/qemu/driver.ts";

export type { AccessOptions, FirecrackerOptions, KubernetesOptions, QemuOptions };

type ClosableDriver = SandboxDriver & AsyncDisposable;

/** Loads an engine, which is closed with the runtime. Rejects when a package is missing. @param memoryBytes the most memory of a script */
export type LoadEngine = (clock: Clock, memoryBytes?: number) => Promise<ClosableDriver>;

export const knownEngines: ReadonlyMap<string, LoadEngine> = new Map<string, LoadEngine>([
  [
    "quickjs",
    async (clock, memoryBytes) =>
      (await import("./quickjs/driver.ts")).quickJsDriver({ clock, ...(memoryBytes !== undefined && { memoryBytes }) }),
  ],
  ["cpython", async (clock) => new (await import("./cpython/cpython.ts")).CpythonDriver({ clock })],
  ["pyodide", async (clock) => new (await import("./cpython/pyodide.ts")).PyodideDriver({ clock })],
]);

/** In the order they are tried. Engines that are not in this list run only if `chains.engines` names them. */
export const defaultEngines: readonly string[] = ["quickjs", "cpython", "pyodide"];

/** The settings of engines that run on other machines, real or virtual. Such an engine is used only if `engines` names it. */
export interface EngineSettings {
  readonly kubernetes?: KubernetesOptions;
  readonly firecracker?: FirecrackerOptions;
  readonly qemu?: QemuOptions;
}

/** Puts the values of secrets in the place of their references in a text. */
export type ResolveText = (text: string) => Promise<string>;

/** The engines that need settings. */
export const placedEngines: readonly (keyof EngineSettings)[] = ["kubernetes", "firecracker", "qemu"];

/**
 * Returns undefined when no engine has this name.
 *
 * @throws RuntimeFault `config_invalid` when its settings are missing, once it is loaded
 */
export function placedEngine(name: string, settings: EngineSettings, resolve: ResolveText): LoadEngine | undefined {
  const { kubernetes, firecracker, qemu } = settings;
  switch (name) {
    case "kubernetes":
      return async (clock) => {
        const { token, ...rest } = kubernetes ?? unconfigured(name);
        const resolved = typeof token === "string" ? (): Promise<string> => resolve(token) : token;
        return kubernetesDriver({ clock, ...rest, ...(resolved !== undefined && { token: resolved }) });
      };
    case "firecracker":
      return async (clock) => firecrackerDriver({ clock, ...(firecracker ?? unconfigured(name)) });
    case "qemu":
      return async (clock) => qemuDriver({ clock, ...(qemu ?? unconfigured(name)) });
    default:
      return undefined;
  }
}

function unconfigured(name: string): never {
  throw new RuntimeFault("config_invalid", `it has no settings; give them as \`chains.engine_settings.${name}\``);
}

/**
 * Python scripts in a Firecracker machine each, for `chains.drivers`. Tested only against its protocol; try it on your host
 * first (`npm run proof -- driver firecracker FILE`).
 *
 * @public
 */
export async function firecrackerDriver(options: FirecrackerOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { FirecrackerDriver } = await import("./remote/firecracker/driver.ts");
  return new FirecrackerDriver(options);
}

/**
 * Python scripts in a virtual machine each, which QEMU runs in software or with KVM, for `chains.drivers`. It needs no
 * rights.
 *
 * @public
 */
export async function qemuDriver(options: QemuOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { QemuDriver } = await import("./remote/qemu/driver.ts");
  return new QemuDriver(options);
}

/**
 * Python scripts in a pod each, for `chains.drivers`. Tested only against its protocol; try it on your cluster first
 * (`npm run proof -- driver kubernetes FILE`).
 *
 * @public
 */
export async function kubernetesDriver(options: KubernetesOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { KubernetesDriver } = await import("./remote/kubernetes/driver.ts");
  return new KubernetesDriver(options);
}
