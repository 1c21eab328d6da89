/** Tools on workers with real processes: a gateway, workers and NATS, and `kill -9` of each. */
import { describe, expect, it } from "vitest";
import { hasNats, NatsServer } from "../fakes/nats-server.ts";
import { WorkerScene } from "../fakes/worker-scene.ts";

const timeout = 60_000;

async function running(scene: WorkerScene): Promise<Awaited<ReturnType<WorkerScene["startWorker"]>>> {
  await scene.startGateway();
  const worker = await scene.startWorker();
  await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
  return worker;
}

describe.runIf(hasNats)("a tool on a worker", () => {
  it("runs there once, and answers as it would here", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const worker = await running(scene);
    const sent = await scene.call("there_send", { name: "a" }, { idempotency_key: "k1" });
    expect(sent).toMatchObject({ status: "ok", text: "sent a" });
    expect(await scene.call("there_send", { name: "a" }, { idempotency_key: "k1" })).toMatchObject({ status: "ok" });
    expect(scene.effects).toEqual([expect.stringMatching(new RegExp(`^send a \\S+ ${worker.child.pid}$`))]);
    for (let n = 0; n < 14; n += 1) {
      const { call_id: _there, ...there } = await scene.call("there_answer", { n });
      const { call_id: _here, ...here } = await scene.call("here_answer", { n });
      expect(JSON.parse(JSON.stringify(there).replaceAll("there_answer", "here_answer"))).toEqual(here);
    }
    expect(await scene.call("there_fail")).toMatchObject({
      status: "error",
      code: "tool_failed",
      text: expect.stringContaining("TypeError: no luck"),
    });
    expect(await scene.call("by_permission")).toMatchObject({ text: `ran in ${worker.child.pid}` });
    expect(await scene.call("there_child")).toMatchObject({
      code: "tool_failed",
      text: expect.stringContaining("makes calls of its own"),
    });
    expect(await scene.call("there_secret")).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^it is (?!far-)/),
    });
    const large = await scene.call("there_answer", { n: 13 });
    const digest = /[0-9a-f]{64}/.exec(JSON.stringify(large))?.[0];
    const counted = await scene.call("there_bytes", { text: { $artifact: digest } });
    expect(counted).toMatchObject({ status: "ok", structured: { length: 3_000_000 } });
    expect(await scene.run("gateway", "workers", "list")).toMatchObject({ out: expect.stringContaining("0 of 16") });
    expect((await scene.events()).map(({ type }) => type)).toContain("worker.joined");
  });

  it("ends unknown when its worker is killed, and never runs again", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const worker = await running(scene);
    const held = scene.call("there_hold", { name: "h" }, { idempotency_key: "k1" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    await scene.kill(worker);
    await scene.startWorker();
    expect(await held).toMatchObject({ status: "error", code: "outcome_unknown" });
    scene.letGo("h");
    expect(await scene.call("there_hold", { name: "h" }, { idempotency_key: "k1" })).toMatchObject({
      code: "outcome_unknown",
    });
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    expect(await scene.call("there_send", { name: "b" })).toMatchObject({ status: "ok" });
    expect(scene.effects.filter((line) => line.startsWith("hold"))).toEqual(["hold h"]);
  });

  it("is not run without a worker, and is offered again when one comes", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const worker = await running(scene);
    await scene.kill(worker);
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(false);
    const refused = await scene.call("there_send", { name: "a" });
    expect(refused).toMatchObject({
      code: "tool_unavailable",
      retry: "later",
      text: expect.stringContaining("no worker of group `linux` is connected"),
    });
    await scene.startWorker();
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({ status: "ok" });
    expect(scene.effects).toHaveLength(1);
  });

  it("keeps its answer for a gateway that was killed", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const gateway = await scene.startGateway();
    await scene.startWorker();
    await expect.poll(() => scene.canRun("there_hold"), { timeout }).toBe(true);
    const lost = scene.call("there_hold", { name: "h" }, { idempotency_key: "k1" }).catch(() => "lost");
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    await scene.kill(gateway);
    expect(await lost).toBe("lost");
    scene.letGo("h");
    await expect.poll(() => scene.effects, { timeout }).toContain("held h");
    await expect
      .poll(async () => (await scene.run("gateway", "workers", "list")).out, { timeout })
      .toContain("0 of 16");
    await scene.startGateway();
    expect(await scene.call("there_hold", { name: "h" }, { idempotency_key: "k1" })).toMatchObject({
      status: "ok",
      text: "held h",
    });
    expect(scene.effects).toEqual(["hold h", "held h"]);
  });

  it("goes on while NATS is killed and comes back", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    await running(scene);
    const held = scene.call("there_hold", { name: "h" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    await nats.kill();
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(false);
    scene.letGo("h");
    await expect.poll(() => scene.effects, { timeout }).toContain("held h");
    await nats.start();
    expect(await held).toMatchObject({ status: "ok", text: "held h" });
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({ status: "ok" });
    expect(scene.effects).toHaveLength(3);
  });

  it("is finished by a worker that drains, and the next call is not taken", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const worker = await running(scene);
    const held = scene.call("there_hold", { name: "h" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    worker.child.kill("SIGTERM");
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(false);
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({ code: "tool_unavailable" });
    scene.letGo("h");
    expect(await held).toMatchObject({ status: "ok", text: "held h" });
    expect(await worker.end).toMatchObject({ code: 0, err: expect.stringContaining("1 order running") });
  });

  it("waits for a free worker, and is refused when too many wait", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair({ gateway: "  max_waiting: 1\n", worker: "  max_running: 1\n" });
    await running(scene);
    const first = scene.call("there_hold", { name: "one" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold one");
    const [second, third] = [scene.call("there_hold", { name: "two" }), scene.call("there_hold", { name: "three" })];
    const refused = await Promise.race([second, third]);
    expect(refused).toMatchObject({ code: "tool_failed", retry: "later", text: expect.stringContaining("are busy") });
    for (const name of ["one", "two", "three"]) scene.letGo(name);
    expect(await first).toMatchObject({ text: "held one" });
    const rest = [await second, await third].filter((outcome) => outcome.status === "ok");
    expect(rest).toHaveLength(1);
    expect(scene.effects.filter((line) => line.startsWith("hold "))).toHaveLength(2);
  });

  it("ends unknown when its worker is silent; a late answer settles it", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    const worker = await running(scene);
    const held = scene.call("there_hold", { name: "h" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    worker.child.kill("SIGSTOP");
    const unknown = await held;
    expect(unknown).toMatchObject({ code: "outcome_unknown", text: expect.stringContaining("stopped answering") });
    scene.letGo("h");
    worker.child.kill("SIGCONT");
    await expect.poll(() => scene.effects, { timeout }).toContain("held h");
    const letters = async (): Promise<string> => (await scene.run("gateway", "workers", "dead-letters")).out;
    await expect.poll(letters, { timeout }).toContain("late");
    const settled = await scene.send(`/v1/calls/${unknown.call_id}/reconcile`, "operator", {});
    expect(await settled.json()).toMatchObject({ state: "ok", outcome: { text: "held h" } });
    expect(scene.effects).toEqual(["hold h", "held h"]);
  });

  it("is cancelled on its worker when its time is over", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair();
    scene.limit("gateway", "call_timeout_ms: 1500");
    await running(scene);
    expect(await scene.call("there_hold", { name: "h" })).toMatchObject({ code: "outcome_unknown" });
    await expect.poll(() => scene.effects, { timeout }).toEqual(["hold h", "aborted h"]);
  });

  it("two workers share the calls; each call runs once", { timeout }, async () => {
    await using nats = await NatsServer.started();
    await using scene = new WorkerScene(nats.url);
    await scene.pair({ second: true });
    await running(scene);
    const other = await scene.startWorker("other");
    await expect.poll(async () => (await scene.run("gateway", "workers", "list")).out, { timeout }).toContain("w2");
    const calls = Array.from({ length: 60 }, (_, i) => scene.call("there_send", { name: `n${i}` }));
    setTimeout(() => other.child.kill("SIGKILL"), 30);
    const outcomes = await Promise.all(calls);
    const keys = scene.effects.map((line) => line.split(" ")[2]);
    expect(new Set(keys).size).toBe(keys.length);
    const good = outcomes.filter(({ status }) => status === "ok");
    const rest = outcomes.filter(({ status }) => status !== "ok");
    expect(keys.length).toBeGreaterThanOrEqual(good.length);
    for (const outcome of rest) expect(["outcome_unknown", "tool_failed"]).toContain(outcome.code);
  });
});
