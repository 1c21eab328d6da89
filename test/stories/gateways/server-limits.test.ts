import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../packages/core/src/testing/clock.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../packages/postern/src/index.ts";
import { openPostgresStore } from "../../../packages/postern/src/store/postgres/postgres-store.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { TcpProxy } from "../../fakes/tcp-proxy.ts";

const postgres = testPostgres();
const fakes = join(import.meta.dirname, "../../fakes");

interface Limits {
  readonly concurrent?: number;
  readonly perMinute?: number;
}

/** What the processes of one server recorded of the calls of all gateways. */
function scene(limits: Limits) {
  const folder = ownFolder();
  const record = join(folder, "record");
  const command = process.execPath;
  const args = [join(fakes, "recording-server.ts"), record];
  const servers = { files: { command, args, trust: "annotations" as const, limits } };
  const lines = (): readonly string[] => (existsSync(record) ? readFileSync(record, "utf8").trim().split("\n") : []);
  const store = postgres.newStore();
  const problems: string[] = [];
  const gateway = async (options: RuntimeOptions = {}): Promise<Runtime> => {
    const log = (problem: string): void => void problems.push(problem);
    const runtime = await createRuntime({ store, servers, log, ...options });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return {
    ...{ folder, servers, store, gateway, problems },
    begun: () => lines().filter((line) => line.startsWith("begin")).length,
    running: () => running(lines()).now,
    /** Resolves when the server that began the last call is no more; its calls have ended with it. */
    ended: async () => {
      const [, process = ""] = lines().at(-1)?.split(" ") ?? [];
      await expect.poll(() => existsSync(`/proc/${process}`)).toBe(false);
      appendFileSync(record, `gone ${process}\n`);
    },
    most: () => running(lines()).most,
  };
}

function running(lines: readonly string[]): { readonly now: number; readonly most: number } {
  const open = new Map<string, number>();
  let most = 0;
  let now = 0;
  for (const line of lines) {
    const [what, process = ""] = line.split(" ");
    const before = open.get(process) ?? 0;
    open.set(process, what === "begin" ? before + 1 : what === "end" ? before - 1 : 0);
    now = [...open.values()].reduce((sum, count) => sum + count, 0);
    most = Math.max(most, now);
  }
  return { now, most };
}

let calls = 0;
function work(runtime: Runtime, given: object = {}, agent = "agent"): ReturnType<Runtime["invoke"]> {
  calls += 1;
  const principal = { tenant: "default", agent };
  return runtime.invoke({ tool: "files__work", arguments: { n: calls, ...given } }, { principal });
}

it.each([
  [1, 10],
  [3, 30],
])("never runs more than %d calls at once over two gateways, and runs all %d of each", async (concurrent, count) => {
  const { gateway, most, begun, problems } = scene({ concurrent });
  const [a, b] = [await gateway(), await gateway()];
  const all = Array.from({ length: count }, (_, n) =>
    [a, b].map((one) => work(one, { ms: 10 * (n % 5) }, `agent ${n % 3}`)),
  );
  const outcomes = await Promise.all(all.flat());
  expect(outcomes.filter(({ status }) => status !== "ok")).toEqual([]);
  expect([most(), begun()]).toEqual([concurrent, 2 * count]);
  expect(problems).toEqual([]);
});

it("passes the only slot to the gateway whose call waits when a long call ends", async () => {
  const { gateway, folder, running, most } = scene({ concurrent: 1 });
  const [a, b] = [await gateway(), await gateway()];
  const until = join(folder, "until");
  const long = work(a, { until });
  await expect.poll(running).toBe(1);
  const waits = work(b);
  await expect.poll(async () => (await b.calls.list({ state: "attempted" })).length).toBe(2);
  writeFileSync(until, "");
  expect(await Promise.all([long, waits])).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  const back = await work(a);
  expect(back.status).toBe("ok");
  expect(most()).toBe(1);
});

it("frees the slots of a gateway that was killed, before the calls of another one give up", async () => {
  const { gateway, servers, store, folder, running, ended, most } = scene({ concurrent: 2 });
  const program = [join(fakes, "limited-gateway-process.ts"), store, JSON.stringify(servers)];
  const child = spawn(process.execPath, program, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise<void>((resolve) => createInterface({ input: child.stdout }).once("line", () => resolve()));
  const b = await gateway();
  const until = join(folder, "never");
  child.stdin.write(`${JSON.stringify({ n: -1, until })}\n${JSON.stringify({ n: -2, until })}\n`);
  await expect.poll(running).toBe(2);
  const waits = [work(b), work(b)];
  child.kill("SIGKILL");
  await ended();
  expect(await Promise.all(waits)).toMatchObject([{ status: "ok" }, { status: "ok" }]);
  expect(most()).toBe(2);
}, 60_000);

it("begins no call in a gateway without its database, and goes on in the other one and later in both", async () => {
  const { gateway, store, most, begun } = scene({ concurrent: 1 });
  const url = new URL(store);
  const proxy = await TcpProxy.open(Number(url.port));
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  url.port = String(proxy.port);
  const [a, b] = [await gateway({ store: url.href }), await gateway()];
  expect((await work(a)).status).toBe("ok"); // it has the slot
  proxy.mode = "hold";
  const cutAt = performance.now();
  const refused = work(a);
  expect((await work(b)).status).toBe("ok");
  expect(performance.now() - cutAt).toBeGreaterThan(3_500); // the lease of the first one was over
  proxy.cut();
  proxy.mode = "forward";
  await refused;
  await expect.poll(async () => (await work(a)).status, { timeout: 20_000 }).toBe("ok");
  expect((await work(b)).status).toBe("ok");
  expect(most()).toBe(1);
  expect(begun()).toBeGreaterThanOrEqual(4);
}, 60_000);

it("begins no more calls within any minute over two gateways than the limit, over three minutes", async () => {
  const perMinute = 30;
  const { gateway, store, begun, problems } = scene({ perMinute });
  const clock = new FakeClock();
  const options: RuntimeOptions = {
    clock,
    store: (context) => openPostgresStore({ ...context, url: store, time: "clock" }),
  };
  const gateways = [await gateway(options), await gateway(options)] as const;
  const starts: number[] = [];
  for (let second = 0; second < 180; second += 1) {
    const count = second % 20 === 0 ? 12 : 1; // also more than fit
    const outcomes = await Promise.all(
      Array.from({ length: count }, (_, n) => work(gateways[(second + n) % 3 === 0 ? 0 : 1])),
    );
    starts.push(...outcomes.filter(({ status }) => status === "ok").map(() => clock.now()));
    await clock.advance(1_000);
  }
  const within = starts.map((from) => starts.filter((at) => at >= from && at < from + 60_000).length);
  expect(Math.max(...within)).toBeLessThanOrEqual(perMinute);
  expect(starts.length).toBeGreaterThan(0.85 * 3 * perMinute);
  expect(begun()).toBe(starts.length);
  expect(problems).toEqual([]);
}, 60_000);
