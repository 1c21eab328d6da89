import { readFileSync } from "node:fs";
import type { SandboxLimits, SandboxSession } from "@postern/core/sandbox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { driveScript, returned, roomyLimits, someTools } from "../../../../test/fakes/scripts.ts";
import { quickJsDriver, type WarmDriver } from "./driver.ts";

let driver: WarmDriver;
beforeAll(async () => {
  driver = await quickJsDriver({ warm: 0, most: 4, scriptsEach: 40 });
});
afterAll(() => driver[Symbol.asyncDispose]());

interface About {
  readonly owner?: string;
  readonly chainId?: string;
  readonly limits?: Partial<SandboxLimits>;
  readonly tools?: typeof someTools;
}

function begin(source: string, { owner = "one", chainId = "c", limits, tools = someTools }: About = {}) {
  return driver.start({ language: "javascript", source, tools, chainId, owner }, { ...roomyLimits, ...limits });
}

/** What it returned, and in which process. */
async function ran(source: string, about: About = {}) {
  await using session = await begin(source, about);
  const pid = pidOf(session);
  const end = await driveScript(session);
  return { pid, end, value: end.end.step === "done" ? returned(end) : end.end };
}

/** The process, once it has been given back and is at rest. */
async function next(owner = "one"): Promise<number> {
  return (await ran("1", { owner })).pid;
}

function pidOf(session: SandboxSession): number {
  if (!("pid" in session) || typeof session.pid !== "number") throw new Error("no process");
  return session.pid;
}

it("reuses a process for scripts of the same owner only", async () => {
  const first = await ran("1");
  expect(await next()).toBe(first.pid);
  const other = await ran("1", { owner: "two" });
  expect(other.pid).not.toBe(first.pid);
  expect(new Set([await next(), await next("two")]).size).toBe(2);
});

it("gives a script without an owner its own process", async () => {
  const { pid } = await ran("1");
  await using session = await driver.start(
    { language: "javascript", source: "await tools.echo({})", tools: someTools, chainId: "c" },
    roomyLimits,
  );
  expect(pidOf(session)).not.toBe(pid);
});

const spoiling = `globalThis.left = "secret-of-the-first"; Object.prototype.left = 1; Array.prototype.map = () => ["bent"];
JSON.parse = () => 7; Promise.prototype.finally = null; Math.random = () => 0.5; Date.now = () => 0; String.prototype.indexOf = () => 3;
files.write("/workspace/left.txt", "secret-of-the-first"); setInterval(() => {}, 1); console.log("x".repeat(50_000));
globalThis.tools = { echo: 1 }; globalThis.console = null; new Uint8Array(5_000_000).fill(7);
Object.freeze(Object.prototype); "spoilt"`;
const looking = `[typeof left, ({}).left, [1, 2].map((n) => n + 1), JSON.parse("[1]"), Math.random() === 0.5, Date.now() > 1e12, "abc".indexOf("c"),
files.list(), typeof tools.echo, (await tools.echo({ a: 1 })).structured, typeof console.log, Object.isFrozen(Object.prototype)]`;

it("shows the next script no value, prototype, file, timer or output of the last", async () => {
  const fresh = await ran(looking, { owner: "fresh" });
  const spoilt = await ran(spoiling, { owner: "spoilt" });
  const after = await ran(looking, { owner: "spoilt" });
  expect([spoilt.value, after.pid]).toEqual(["spoilt", spoilt.pid]);
  expect(after.value).toEqual(fresh.value);
  expect(after.end.out).toBe("");
  expect(after.value).toContain(false);
});

it("leaves no byte of a script in the memory of the next", async () => {
  const first = await ran("globalThis.left = 'canary' + '-of-the-first'; left.length", { owner: "bytes" });
  await using session = await begin("await tools.echo({})", { owner: "bytes" });
  expect(pidOf(session)).toBe(first.pid);
  await session.next();
  const image = await session.freeze();
  await using thawed = await driver.restore(image, roomyLimits, "bytes");
  expect(Buffer.from(image).includes("canary-of-the-first")).toBe(false);
  await thawed.settle([{ place: 0, status: "ok", value: null }]);
  expect(await thawed.next()).toMatchObject({ step: "done" });
});

it("gives a script the same random numbers in a new and in a used process", async () => {
  const numbers = "[Math.random(), Math.random()]";
  const [used, again, other] = [
    await ran(numbers, { chainId: "seed" }),
    await ran(numbers, { chainId: "seed", owner: "elsewhere" }),
    await ran(numbers, { chainId: "another" }),
  ];
  expect(used.value).toEqual(again.value);
  expect(other.value).not.toEqual(used.value);
});

it("finds the present tools in a used process", async () => {
  const few = someTools.slice(0, 1);
  const all = await ran("Object.keys(tools).length");
  const less = await ran("Object.keys(tools)", { tools: few });
  expect([less.pid, less.value]).toEqual([all.pid, ["echo"]]);
  expect((await ran("Object.keys(tools).length")).value).toBe(all.value);
});

it.each<[string, string, Partial<SandboxLimits>]>([
  ["threw", "throw new Error('no')", {}],
  ["more processor time", "for (;;) {}", { cpuMs: 100 }],
  ["needed too much memory", "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)", { memoryBytes: 8 << 20 }],
  ["returned too much", "'x'.repeat(5000)", { outputBytes: 100 }],
  ["waited for nothing", "await new Promise(() => {})", {}],
])("a process whose script %s is not used again", async (_, source, limits) => {
  const { pid, value } = await ran(source, { limits });
  expect(value).toMatchObject({ step: "failed" });
  expect(await next()).not.toBe(pid);
});

it("does not reuse a process whose script was killed or abandoned", async () => {
  const session = await begin("await tools.echo({}); await tools.echo({})");
  const pid = pidOf(session);
  await session.next();
  await session[Symbol.asyncDispose]();
  expect(await next()).not.toBe(pid);
});

it("reuses the process of a frozen script, which continues elsewhere", async () => {
  let image: Uint8Array = new Uint8Array();
  const freeze = async (): Promise<number> => {
    const session = await begin("const { text } = await tools.echo({}); text", { owner: "frozen" });
    const pid = pidOf(session);
    await session.next();
    image = await session.freeze();
    await session[Symbol.asyncDispose]();
    session.kill(); // late: the process is somebody else's
    return pid;
  };
  let isReused = false;
  // One that took a tenth of a second for it, as the first may on a busy machine, is slowed down and let go.
  for (let tries = 0; tries < 3 && !isReused; tries++) isReused = (await freeze()) === (await next("frozen"));
  expect(isReused).toBe(true);
  await using thawed = await driver.restore(image, roomyLimits, "frozen");
  await thawed.settle([{ place: 0, status: "ok", value: { text: "yes" } }]);
  expect(await thawed.next()).toMatchObject({ step: "done", value: "yes" });
});

it("limits the scripts of a process, which does not grow with them", async () => {
  const pids: number[] = [];
  let resident = 0;
  for (let i = 0; i < 45; i++) {
    const { pid } = await ran("new Uint8Array(4_000_000).fill(1).length", { owner: "many" });
    pids.push(pid);
    if (pids.length === 40) resident = residentMegabytes(pid);
  }
  expect(pids.filter((pid) => pid === pids[0])).toHaveLength(40);
  expect(new Set(pids).size).toBe(2);
  if (process.platform === "linux") expect(resident).toBeLessThan(200);
});

function residentMegabytes(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * 4_096) / 2 ** 20;
  } catch {
    return 0; // it has served its last and is gone
  }
}
