import type { FirecrackerOptions } from "./drivers/firecracker/driver.ts";
import type { AccessOptions } from "./drivers/kubernetes/access.ts";
import type { KubernetesOptions } from "./drivers/kubernetes/driver.ts";
import type { SandboxDriver } from "./sandbox.ts";

export type { AccessOptions, FirecrackerOptions, KubernetesOptions };

/**
 * Python scripts in a Firecracker machine each, for `chains.drivers`. Tested by its protocol; try it on a host of yours
 * first (`npm run test:driver -- firecracker FILE`).
 *
 * @public
 */
export async function firecrackerDriver(options: FirecrackerOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { FirecrackerDriver } = await import("./drivers/firecracker/driver.ts");
  return new FirecrackerDriver(options);
}

/**
 * Python scripts in a pod each, for `chains.drivers`. Tested by its protocol; try it on a cluster of yours first
 * (`npm run test:driver -- kubernetes FILE`).
 *
 * @public
 */
export async function kubernetesDriver(options: KubernetesOptions): Promise<SandboxDriver & AsyncDisposable> {
  const { KubernetesDriver } = await import("./drivers/kubernetes/driver.ts");
  return new KubernetesDriver(options);
}
