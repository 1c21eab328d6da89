import type { FirecrackerOptions } from "./remote/firecracker/driver.ts";
import type { AccessOptions } from "./remote/kubernetes/access.ts";
import type { KubernetesOptions } from "./remote/kubernetes/driver.ts";
import type { SandboxDriver } from "./sandbox.ts";

export type { AccessOptions, FirecrackerOptions, KubernetesOptions };

/**
 * Python scripts in a Firecracker machine each, for `chains.drivers`. Tested by its protocol; try it on a host of yours
 * first (`npm run test:driver -- firecracker FILE`).
 *
 * @public
 */
export async function firecrackerDriver(options: FirecrackerOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { FirecrackerDriver } = await import("./remote/firecracker/driver.ts");
  return new FirecrackerDriver(options);
}

/**
 * Python scripts in a pod each, for `chains.drivers`. Tested by its protocol; try it on a cluster of yours first
 * (`npm run test:driver -- kubernetes FILE`).
 *
 * @public
 */
export async function kubernetesDriver(options: KubernetesOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { KubernetesDriver } = await import("./remote/kubernetes/driver.ts");
  return new KubernetesDriver(options);
}
