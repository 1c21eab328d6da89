import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { driverOf, podLimits } from "../../../../../test/fakes/cluster-driver.ts";
import { FakeCluster } from "../../../../../test/fakes/fake-cluster.ts";
import { expectSoon } from "../../../../../test/fakes/in-time.ts";
import { driven } from "../../../../core/src/testing/driven.ts";
import { KubernetesDriver, type KubernetesOptions } from "./driver.ts";
import { here, labels } from "./pod.ts";
import { networkPolicy } from "./policy.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-k8s-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!existsSync("/usr/bin/python3"))("a pod, by the protocol of its cluster", { timeout: 60_000 }, () => {
  it.each(["v5.channel.k8s.io", "v4.channel.k8s.io"])(
    "runs a script that calls tools, and is taken away (%s)",
    async (protocol) => {
      await using cluster = await FakeCluster.open();
      cluster.protocol = protocol;
      await using driver = driverOf(cluster);
      expect(
        await driven(driver, 'a = tools.echo(to="x")\nb = tools.echo(to=a.text + "y")\nb.text', podLimits),
      ).toMatchObject({
        step: "done",
        value: "xy",
      });
      await driver[Symbol.asyncDispose]();
      expect(cluster.pods.size).toBe(0);
      expect([cluster.count("POST"), cluster.count("ATTACH"), cluster.count("DELETE")]).toEqual([1, 1, 1]);
    },
  );

  it("transfers large arguments and results whole", async () => {
    await using cluster = await FakeCluster.open();
    await using driver = driverOf(cluster);
    const source = 'text = "é" * 600000\ntools.echo(to=text).text == text';
    expect(await driven(driver, source, podLimits)).toMatchObject({ step: "done", value: true });
  });

  it("limits processor time in the pod and does not count sleep", async () => {
    await using cluster = await FakeCluster.open();
    await using driver = driverOf(cluster);
    const sleeper = "import time\nfor n in range(3):\n    time.sleep(1)\n    tools.echo(to='x')\n'slept'";
    expect(await driven(driver, sleeper, podLimits)).toMatchObject({ step: "done", value: "slept" });
    const busy = "n = 0\nwhile True:\n    n += 1\n    if n % 3_000_000 == 0:\n        tools.echo(to='x')";
    expect(await driven(driver, busy, { ...podLimits, cpuMs: 1_000, wallMs: 45_000 })).toMatchObject({
      step: "failed",
      why: "cpu",
    });
  });

  it("reports the exit code of a pod that dies, and deletes the pod", async () => {
    await using cluster = await FakeCluster.open();
    await using driver = driverOf(cluster);
    expect(await driven(driver, "import os\nos._exit(3)", podLimits)).toEqual({
      ...{ step: "failed", why: "crash", message: "The sandbox ended with code 3." },
    });
    await driver[Symbol.asyncDispose]();
    expect(cluster.pods.size).toBe(0);
  });

  it("ends a script after its time although its pod is silent", async () => {
    await using cluster = await FakeCluster.open();
    await using driver = driverOf(cluster);
    await expectSoon(4_000, async () => {
      const end = await driven(driver, "import time\ntime.sleep(100)", { ...podLimits, wallMs: 1_000 });
      expect(end).toMatchObject({ step: "failed", why: "wall" });
    });
  });

  it("uses a warm pod for the next script, and deletes it with the pool", async () => {
    await using cluster = await FakeCluster.open();
    await using driver = driverOf(cluster, { warm: 1 });
    expect(await driven(driver, "1 + 1", podLimits)).toMatchObject({ value: 2 });
    expect(await driven(driver, "2 + 2", podLimits)).toMatchObject({ value: 4 });
    await driver[Symbol.asyncDispose]();
    expect(cluster.pods.size).toBe(0);
  });

  it("tries a failed delete again", async () => {
    await using cluster = await FakeCluster.open();
    let failures = 2;
    cluster.answers = (asked) =>
      asked.startsWith("DELETE") && failures-- > 0 ? [500, { message: "etcd" }] : undefined;
    await using driver = driverOf(cluster);
    expect(await driven(driver, "1", podLimits)).toMatchObject({ value: 1 });
    await driver[Symbol.asyncDispose]();
    expect([cluster.pods.size, cluster.count("DELETE")]).toEqual([0, 3]);
  });

  it("waits for a cluster that is slow and fails in between", async () => {
    await using cluster = await FakeCluster.open();
    let looks = 0;
    cluster.status = () => ({ phase: ++looks > 3 ? "Running" : "Pending" });
    cluster.answers = (asked) =>
      looks === 2 && asked.startsWith("GET") && ++looks > 0 ? [503, "<html>busy"] : undefined;
    await using driver = driverOf(cluster);
    expect(await driven(driver, "1", podLimits)).toMatchObject({ value: 1 });
  });
});

it("refuses to run where the network is open", async () => {
  await using cluster = await FakeCluster.open();
  await using driver = driverOf(cluster);
  expect(await driver.unavailable()).toBeUndefined();
  const selected = { podSelector: {}, policyTypes: ["Egress"] };
  cluster.policies = [networkPolicy("scripts"), { metadata: { name: "dns" }, spec: { ...selected, egress: [{}] } }];
  expect(await driver.unavailable()).toContain("`dns` lets something through");
  await expect(driven(driver, "1", podLimits)).rejects.toThrow("No pod is created");
  expect(cluster.count("POST")).toBe(0);
  const others = { metadata: { name: "web" }, spec: { podSelector: { matchLabels: { app: "web" } }, egress: [{}] } };
  cluster.policies = [networkPolicy("scripts"), others];
  expect(await driver.unavailable()).toBeUndefined();
  cluster.policies = [{ spec: selected }];
  expect(await driver.unavailable()).toContain("no NetworkPolicy closes");
  cluster.policies = [others];
  expect(await driver.unavailable()).toContain("no NetworkPolicy closes");
});

it("says why it cannot run", async () => {
  await using cluster = await FakeCluster.open();
  expect(await driverOf(cluster, { token: "other" }).unavailable()).toContain("401");
  expect(await driverOf(cluster, { runtimeClass: "" }).unavailable()).toContain("RuntimeClass");
  expect(await driverOf(cluster, { installation: "a b" }).unavailable()).toContain("`a b`");
  expect(await driverOf(cluster, { server: "http://cluster.example" }).unavailable()).toContain("https://");
  expect(await driverOf(cluster, { server: "https://127.0.0.1:1" }).unavailable()).toContain("ECONNREFUSED");
  const long = driven(driverOf(cluster, { longestSeconds: 30 }), "1", podLimits);
  await expect(long).rejects.toThrow("`longest_seconds` of at least 40");
});

it("deletes old pods of this installation only", async () => {
  await using cluster = await FakeCluster.open();
  const leave = (name: string, more: Record<string, string>, phase = "Running"): void => {
    const mine = { [labels.script]: "true", [labels.installation]: "test", [labels.incarnation]: "old" };
    const found = { ...mine, [labels.host]: here, [labels.process]: String(process.pid), ...more };
    cluster.pods.set(name, { metadata: { name, labels: found }, spec: { containers: [] }, status: { phase } });
  };
  leave("dead", {});
  leave("alive", { [labels.process]: String(process.ppid) });
  leave("elsewhere", { [labels.host]: "other" });
  leave("ended-elsewhere", { [labels.host]: "other" }, "Succeeded");
  leave("foreign", { [labels.installation]: "another" }, "Succeeded");
  await using driver = driverOf(cluster);
  cluster.attaches = (socket) => socket.end();
  await expect(driven(driver, "1", podLimits)).rejects.toThrow();
  await driver[Symbol.asyncDispose]();
  expect([...cluster.pods.keys()]).toEqual(["alive", "elsewhere", "foreign"]);
});

describe("access to the cluster", () => {
  const kubeconfig = (cluster: FakeCluster, user: string, more = ""): string => {
    const path = join(folder, "config");
    const lists = `clusters: [{ name: c, cluster: { server: "${cluster.url}"${more} } }]\nusers: [{ name: u, user: ${user} }]`;
    writeFileSync(path, `current-context: x\ncontexts: [{ name: x, context: { cluster: c, user: u } }]\n${lists}\n`);
    return path;
  };
  const found = async (_cluster: FakeCluster, given: Partial<KubernetesOptions>): Promise<string | undefined> => {
    const base = { namespace: "scripts", runtimeClass: "kata", image: "i", ...given };
    return new KubernetesDriver(base).unavailable();
  };

  it("reads a kubeconfig, and its token file each time", async () => {
    await using cluster = await FakeCluster.open();
    expect(await found(cluster, { kubeconfig: kubeconfig(cluster, "{ token: cluster-token }") })).toBeUndefined();
    writeFileSync(join(folder, "token"), "old\n");
    const path = kubeconfig(cluster, "{ tokenFile: token }");
    const driver = new KubernetesDriver({ namespace: "scripts", runtimeClass: "kata", image: "i", kubeconfig: path });
    expect(await driver.unavailable()).toContain("401");
    writeFileSync(join(folder, "token"), "cluster-token\n");
    expect(await driver.unavailable()).toBeUndefined();
  });

  it("refuses kubeconfigs that run programs or skip TLS checks", async () => {
    await using cluster = await FakeCluster.open();
    expect(await found(cluster, { kubeconfig: kubeconfig(cluster, "{ exec: { command: aws } }") })).toContain("`exec`");
    const trusting = kubeconfig(cluster, "{ token: t }", ", insecure-skip-tls-verify: true");
    expect(await found(cluster, { kubeconfig: trusting })).toContain("insecure-skip-tls-verify");
    expect(await found(cluster, { kubeconfig: kubeconfig(cluster, "{}"), context: "y" })).toContain("`y`");
    expect(await found(cluster, { kubeconfig: join(folder, "none") })).toContain("ENOENT");
    expect(await found(cluster, {})).toContain("No cluster is named");
  });
});
