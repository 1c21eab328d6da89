import { existsSync } from "node:fs";
import { noOpaqueFields, toCamelCase } from "@postern/core";
import { describe, expect, it } from "vitest";
import { FakeCluster } from "../../../../test/fakes/fake-cluster.ts";
import { createRuntime, defineTool } from "../index.ts";
import { chainOptionsFrom, chainsSchema } from "./chains-config.ts";
import { driversSchema } from "./drivers-config.ts";

const pods = { namespace: "scripts", runtime_class: "gvisor", image: "registry.example/python@sha256:0" };
const guest = { kernel: "/opt/vmlinux", image: "/opt/guest.img" };
const machines = {
  ...{ firecracker: "/opt/firecracker", jailer: "/opt/jailer", kernel: "/opt/vmlinux", image: "/opt/guest.img" },
  ...{ chroot_base: "/srv/jailer", uid: 5000, gid: 5000 },
};

it("reads settings of engines on other machines", () => {
  const kubernetes = {
    ...pods,
    server: "https://10.0.0.1:6443",
    token: "secret://cluster/token",
    longest_seconds: 600,
  };
  const file = chainsSchema.parse({
    engines: ["kubernetes"],
    engine_settings: { kubernetes, firecracker: { ...machines, most: 4 }, qemu: { ...guest, start_ms: 300_000 } },
  });
  expect(chainOptionsFrom(toCamelCase(file, noOpaqueFields))).toEqual({
    engines: ["kubernetes"],
    engineSettings: {
      kubernetes: {
        ...{ namespace: "scripts", runtimeClass: "gvisor", image: pods.image },
        ...{ server: "https://10.0.0.1:6443", token: "secret://cluster/token", longestSeconds: 600 },
      },
      firecracker: {
        ...{
          firecracker: "/opt/firecracker",
          jailer: "/opt/jailer",
          kernel: "/opt/vmlinux",
          image: "/opt/guest.img",
        },
        ...{ chrootBase: "/srv/jailer", uid: 5000, gid: 5000, most: 4 },
      },
      qemu: { ...guest, startMs: 300_000 },
    },
  });
});

it.each<[string, object, string]>([
  ["no runtime class", { kubernetes: { namespace: "a", image: "b" } }, "runtime_class"],
  ["an empty one", { kubernetes: { ...pods, runtime_class: "" } }, "runtime_class"],
  ["a namespace that is none", { kubernetes: { ...pods, namespace: "../kube-system" } }, "namespace"],
  [
    "a token in the open",
    { kubernetes: { ...pods, server: "https://x", token: "eyJhbGciOi" } },
    "secret://connector/key",
  ],
  ["two ways in", { kubernetes: { ...pods, server: "https://x", kubeconfig: "/a" } }, "not both"],
  ["two tokens", { kubernetes: { ...pods, server: "https://x", token: "secret://a/b", token_file: "/t" } }, "not both"],
  ["a token without a server", { kubernetes: { ...pods, token_file: "/t" } }, "belong to `server`"],
  ["a path from here", { kubernetes: { ...pods, kubeconfig: "config" } }, "absolute"],
  ["a machine of root's", { firecracker: { ...machines, uid: 0 } }, "uid"],
  ["a relative path", { qemu: { ...guest, image: "guest.img" } }, "image"],
  ["an accelerator that is none", { qemu: { ...guest, accelerator: "xen" } }, "accelerator"],
  ["half a processor for a machine", { firecracker: { ...machines, cpus: 0.5 } }, "cpus"],
  ["what is no setting", { firecracker: { ...machines, network: "tap0" } }, "network"],
  ["another engine", { docker: {} }, "docker"],
])("is refused with %s", (_, drivers, why) => {
  const read = driversSchema.safeParse(drivers);
  expect(JSON.stringify(read.error?.issues)).toContain(why);
});

it("rejects at the start an engine without its settings", async () => {
  await expect(createRuntime({ chains: { engines: ["kubernetes"] } })).rejects.toThrow(
    "`chains.engine_settings.kubernetes`",
  );
  await expect(createRuntime({ chains: { engines: ["firecracker"] } })).rejects.toThrow(
    "`chains.engine_settings.firecracker`",
  );
});

describe.skipIf(!existsSync("/usr/bin/python3"))("named in `engines`", () => {
  const echo = defineTool({
    name: "echo",
    description: "Says it back.",
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    risk: "safe",
    idempotent: true,
    execute: async ({ to }) => `${to}-token`,
  });

  it("runs scripts with a token of the secret store that stays hidden", async () => {
    await using cluster = await FakeCluster.open();
    const secrets = { get: async () => ({ reveal: () => "cluster-token" }) };
    const kubernetes = {
      ...{ namespace: "scripts", runtimeClass: "gvisor", image: pods.image },
      ...{ server: cluster.url, token: "secret://cluster/token", warm: 0 },
    };
    await using runtime = await createRuntime({
      ...{ tools: [echo], secrets },
      chains: { engines: ["kubernetes"], engineSettings: { kubernetes } },
    });
    const outcome = await runtime.runChain({ code: 'tools.echo(to="cluster").text + "!"', language: "python" });
    const { structured } = outcome;
    expect(outcome).toMatchObject({ status: "ok" });
    expect(structured).toMatchObject({ status: "ok", engine: "kubernetes", tool_calls: 1 });
    expect(JSON.stringify(structured)).not.toContain("cluster-token");
  });

  it("uses no engine that `engines` does not name", async () => {
    await using cluster = await FakeCluster.open();
    const kubernetes = { namespace: "scripts", runtimeClass: "gvisor", image: "i", server: cluster.url };
    await using runtime = await createRuntime({ tools: [echo], chains: { engineSettings: { kubernetes } } });
    expect((await runtime.chains?.engines())?.map(({ name }) => name)).not.toContain("kubernetes");
    expect(cluster.asked).toEqual([]);
  });
});
