import type { SandboxLimits } from "../../packages/core/src/sandbox/sandbox.ts";
import { KubernetesDriver, type KubernetesOptions } from "../../packages/engines/src/remote/kubernetes/driver.ts";
import type { FakeCluster } from "./fake-cluster.ts";

export const podLimits: SandboxLimits = {
  cpuMs: 2_000,
  memoryBytes: 128 * 1024 * 1024,
  outputBytes: 100_000,
  wallMs: 20_000,
};

/** Returns a Kubernetes driver that uses the fake cluster. */
export function driverOf(cluster: FakeCluster, more: Partial<KubernetesOptions> = {}): KubernetesDriver {
  const image = "registry.example/python@sha256:0";
  const given = { server: cluster.url, token: "cluster-token", namespace: "scripts", runtimeClass: "gvisor", image };
  return new KubernetesDriver({ ...given, warm: 0, startMs: 5_000, installation: "test", ...more });
}
