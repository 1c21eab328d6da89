/** A program that may write into NATS, without the right key or with an old message: nothing runs that a gateway did not order. */
import { join } from "node:path";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { sealed } from "../../../packages/postern/src/workers/seal.ts";
import { createWorkerKey, loadWorkerKey, type WorkerKey } from "../../../packages/postern/src/workers/worker-key.ts";
import { hasNats, NatsServer } from "../../fakes/nats-server.ts";
import { WorkerScene } from "../../fakes/worker-scene.ts";

const timeout = 60_000;

class Stage implements AsyncDisposable {
  readonly nats: NatsServer;
  readonly scene: WorkerScene;
  readonly connection: NatsConnection;
  /** What was published, by subject. */
  readonly seen: { readonly subject: string; readonly text: string }[] = [];

  static async open(): Promise<Stage> {
    const nats = await NatsServer.started();
    const scene = new WorkerScene(nats.url);
    await scene.pair({ second: true });
    await scene.startGateway();
    await scene.startWorker();
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    const stage = new Stage(nats, scene, await connect({ servers: nats.url }));
    return stage;
  }

  constructor(nats: NatsServer, scene: WorkerScene, connection: NatsConnection) {
    this.nats = nats;
    this.scene = scene;
    this.connection = connection;
    for (const subject of ["orders.>", "done.>", "taken.>", "workers.>"])
      connection.subscribe(subject, {
        callback: (_, m) => void this.seen.push({ subject: m.subject, text: m.string() }),
      });
  }

  key(name: string): Promise<WorkerKey> {
    return loadWorkerKey(join(this.scene.folder, name, ".postern"));
  }

  async order(text: string, group = "linux"): Promise<void> {
    await jetstream(this.connection).publish(`orders.${group}`, text);
  }

  /** The body of the last order that the gateway sent. */
  get body(): {
    readonly call: { readonly id: string };
    readonly key: string;
    readonly fence: string;
    readonly group: string;
  } {
    const text = this.sent;
    return JSON.parse(text.slice(text.indexOf("\n")));
  }

  get sent(): string {
    return this.seen.findLast(({ subject }) => subject === "orders.linux")?.text ?? "";
  }

  async letters(): Promise<readonly { readonly reason: string; readonly message: string }[]> {
    return JSON.parse((await this.scene.run("gateway", "workers", "dead-letters", "--json")).out).dead_letters;
  }

  async reasons(): Promise<readonly string[]> {
    return (await this.letters()).map(({ reason }) => reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close();
    await this.scene[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
  }
}

describe.runIf(hasNats)("messages between gateways and workers", () => {
  it("an order is run only as the gateway sent it, once, in time", { timeout }, async () => {
    await using stage = await Stage.open();
    expect(await stage.scene.call("there_send", { name: "a" })).toMatchObject({ status: "ok" });
    const { sent, body } = stage;
    const gateway = await stage.key("gateway");
    const fresh = (change: object): object => {
      const call = { ...body.call, id: `call_${Math.random()}`, ...("call" in change && (change.call as object)) };
      return { ...body, key: call.id, ...change, call };
    };
    await stage.order("nothing of ours");
    await stage.order(sent.replace("postern-order/1", "postern-order/2"));
    await stage.order(sealed("order", fresh({}), createWorkerKey()));
    await stage.order(sent.replace('"name":"a"', '"name":"b"'));
    await stage.order(sealed("order", { nothing: true }, gateway));
    await stage.order(sealed("order", fresh({ group: "other" }), gateway));
    await stage.order(sent);
    await stage.order(sealed("order", fresh({ expires: Date.now() - 1 }), gateway));
    await stage.order(sealed("order", fresh({ definition: "0".repeat(64) }), gateway));
    await stage.order(sealed("order", fresh({ call: { tool: "nothing" } }), gateway));
    await stage.order(sealed("answer", fresh({}), gateway));
    const expected = [
      "unsealed",
      "other_version",
      "unknown_key",
      "forged",
      "unreadable",
      "other_group",
      "replayed",
      "expired",
    ];
    await expect
      .poll(
        async () =>
          (await stage.letters())
            .filter(({ message }) => message === "order")
            .map(({ reason }) => reason)
            .sort(),
        { timeout },
      )
      .toEqual([...expected, "definition_differs", "tool_unknown", "unsealed"].sort());
    expect(stage.scene.effects).toHaveLength(1);
    expect((await stage.scene.run("gateway", "workers", "dead-letters")).out).toContain("replayed");
    const refused = (await stage.scene.events()).filter(({ type }) => type === "worker.message_refused");
    expect(refused.length).toBeGreaterThanOrEqual(11);
  });

  it("only a worker of the group answers a call, and only once", { timeout }, async () => {
    await using stage = await Stage.open();
    const { scene, connection } = stage;
    const held = scene.call("there_hold", { name: "h" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    const { call, key, fence, group } = stage.body;
    const [worker, gateway] = await Promise.all([stage.key("worker"), stage.key("gateway")]);
    const answer = (more: object) => ({
      key,
      fence,
      callId: call.id,
      group,
      end: { ran: "returned", value: { plain: "lie" } },
      ...more,
    });
    const subject = `done.${fence}.${key}.${call.id}`;
    connection.publish(subject, sealed("answer", answer({}), createWorkerKey()));
    connection.publish(subject, sealed("answer", answer({}), gateway));
    connection.publish(subject, sealed("answer", answer({}), worker).replace("lie", "lye"));
    connection.publish(subject, sealed("answer", answer({ group: "other" }), worker));
    connection.publish(subject, sealed("answer", answer({ key: "another" }), worker));
    connection.publish(subject, sealed("answer", answer({ callId: "call_1" }), worker));
    const expected = ["forged", "late", "other_call", "other_group", "unknown_key", "unknown_key"];
    await expect.poll(async () => [...(await stage.reasons())].sort(), { timeout }).toEqual(expected);
    scene.letGo("h");
    expect(await held).toMatchObject({ status: "ok", text: "held h" });
    const right = stage.seen.findLast((one) => one.subject === subject)?.text ?? "";
    connection.publish(subject, right); // the same again is no problem
    connection.publish(subject, sealed("answer", answer({}), worker)); // another one is
    await expect
      .poll(async () => (await stage.reasons()).filter((reason) => reason === "late"), { timeout })
      .toHaveLength(2);
  });

  it("an order is withdrawn if no worker takes it, and does not run later", { timeout }, async () => {
    await using stage = await Stage.open();
    const manager = await jetstreamManager(stage.connection);
    await manager.consumers.delete("POSTERN_ORDERS", "linux"); // the worker lives, and gets nothing
    const outcome = await stage.scene.call("there_send", { name: "a" });
    expect(outcome).toMatchObject({ code: "tool_failed", retry: "later", text: expect.stringContaining("took it") });
    await stage.order(stage.sent);
    await stage.scene.startWorker("other");
    await expect.poll(() => stage.reasons(), { timeout }).toContain("replayed");
    expect(stage.scene.effects).toEqual([]);
  });

  it("the token of an order reads only artifacts of its caller, until the call ends", { timeout }, async () => {
    await using stage = await Stage.open();
    const { scene } = stage;
    const held = scene.call("there_hold", { name: "h" });
    await expect.poll(() => scene.effects, { timeout }).toContain("hold h");
    const { artifacts } = JSON.parse(stage.sent.slice(stage.sent.indexOf("\n"))) as {
      artifacts: { url: string; token: string };
    };
    const ask = (path: string, method = "GET"): Promise<Response> =>
      fetch(`${artifacts.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${artifacts.token}`, "content-type": "application/json" },
      });
    expect((await ask(`/v1/artifacts/${"0".repeat(64)}`)).status).toBe(404);
    expect((await ask("/v1/artifacts", "POST")).status).toBe(200);
    for (const path of ["/v1/calls", "/v1/tools", "/v1/approvals", "/v1/session"])
      expect((await ask(path)).status).toBe(403);
    expect((await scene.send("/v1/artifacts", "operator", {})).status).toBe(403);
    scene.letGo("h");
    expect(await held).toMatchObject({ status: "ok" });
    expect((await ask(`/v1/artifacts/${"0".repeat(64)}`)).status).toBe(401);
  });
});

describe.runIf(hasNats)("a NATS that cannot be used", () => {
  it("is named at the start, with what to do", { timeout }, async () => {
    await using plain = await NatsServer.started("--without-jetstream");
    await using closed = await NatsServer.started("--user", "u", "--pass", "right");
    const problemAt = async (url: string): Promise<readonly string[]> => {
      await using scene = new WorkerScene(url);
      await scene.pair();
      const words = ["worker", "--group", "linux"];
      const [worker, gateway] = await Promise.all([scene.run("worker", ...words), scene.run("gateway", "start")]);
      expect([worker.code, gateway.code]).toEqual([1, 1]);
      return [worker.err, gateway.err];
    };
    for (const problem of await problemAt(plain.url))
      expect(problem).toContain("runs without JetStream; start it with");
    for (const problem of await problemAt(closed.url)) expect(problem).toContain("refuses the credentials; check");
    await plain.kill();
    await using scene = new WorkerScene(plain.url);
    await scene.pair();
    expect(await scene.run("worker", "worker", "--group", "linux")).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot be reached"),
    });
    await scene.startGateway(); // other tools work
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({
      code: "tool_unavailable",
      text: expect.stringContaining("cannot be reached"),
    });
    expect(await scene.call("here_answer", { n: 0 })).toMatchObject({ status: "ok" });
  });

  it("takes credentials by reference", { timeout }, async () => {
    await using closed = await NatsServer.started("--user", "u", "--pass", "right-password");
    await using scene = new WorkerScene(closed.url);
    scene.nats = `{ url: "${closed.url}", user: u, password: secret://nats/password }`;
    await scene.pair();
    await scene.startGateway();
    await scene.startWorker();
    await expect.poll(() => scene.canRun("there_send"), { timeout }).toBe(true);
    expect(await scene.call("there_send", { name: "a" })).toMatchObject({ status: "ok" });
  });

  it("its packages are named if they are missing", { timeout }, async () => {
    await using scene = new WorkerScene("nats://127.0.0.1:1");
    await scene.pair();
    const hook = new URL("../../fakes/without-package.mjs", import.meta.url);
    const options = `${process.env["NODE_OPTIONS"] ?? ""} --import ${hook}`;
    scene.environment = { NODE_OPTIONS: options, WITHOUT_PACKAGE: "@nats-io/jetstream" };
    const [worker, gateway] = await Promise.all([
      scene.run("worker", "worker", "--group", "linux"),
      scene.run("gateway", "start"),
    ]);
    for (const { code, err } of [worker, gateway]) {
      expect(code).toBe(1);
      expect(err).toContain("npm install @nats-io/transport-node @nats-io/jetstream");
    }
  });

  it("settings that cannot work are refused by name", { timeout }, async () => {
    await using scene = new WorkerScene("nats://127.0.0.1:1");
    const refusal = async (workers: string, ...words: readonly string[]): Promise<string> => {
      scene.configure("gateway", workers);
      const { code, err } = await scene.run("gateway", ...(words.length > 0 ? words : ["start"]));
      expect(code).toBeGreaterThan(0);
      return err;
    };
    const key = await scene.key("worker");
    const group = (text: string): string => `  keys: { w1: ${key} }\n  groups:\n    linux: ${text}\n`;
    expect(await refusal(group("{ tools: [waits], workers: [w1] }"))).toContain(
      "`waits` cannot run on the workers of group `linux`: it waits for people",
    );
    expect(await refusal(group("{ tools: [there_send], workers: [w2] }"))).toContain(
      "`workers.keys` has no key of that name",
    );
    const two = "{ tools: [there_send], workers: [w1] }\n    mac: { tools: [there_*], workers: [w1] }";
    expect(await refusal(group(two))).toContain("fits the groups `linux` and `mac`");
    expect(await refusal("  keys: { w1: short }\n")).toContain("Write the 43 characters");
    expect(await refusal(group("{ workers: [w1] }"))).toContain("Give `tools` or `permissions`");
    expect(await refusal("  keys: {}\n", "worker")).toContain("`--group` is missing");
  });
});
