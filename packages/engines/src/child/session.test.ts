import { SystemClock } from "@postern/core";
import type { SandboxLimits, ScriptStep } from "@postern/core/sandbox";
import { afterEach, expect, it } from "vitest";
import { lyingChild } from "../../../../test/fakes/lying-child.ts";
import { cpuMsOf } from "../../../../test/fakes/process-tree.ts";
import { type ChildSpec, SandboxProcess } from "./child-process.ts";
import type { SandboxEnd } from "./frame-line.ts";
import { ChildSession } from "./session.ts";

const limits: SandboxLimits = { cpuMs: 20_000, memoryBytes: 64 << 20, outputBytes: 1_000, wallMs: 30_000 };
const clock = new SystemClock();
const started: SandboxProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill();
    await child.gone;
  }
});

async function session(spec: ChildSpec, given: Partial<SandboxLimits> = {}): Promise<ChildSession> {
  const child = await SandboxProcess.start(spec);
  started.push(child);
  return new ChildSession(child, { limits: { ...limits, ...given }, overheadBytes: 192 << 20, clock });
}

it("reports a child that the kernel ended for its memory", async () => {
  const bounds: number[] = [];
  const end: SandboxEnd = {
    ...{
      hasUnaskedFrame: false,
      gone: Promise.resolve(),
      kill: () => {},
      send: () => {},
      limitMemory: (bytes) => bounds.push(bytes),
    },
    receive: async () => ({ kind: "ended", message: "The sandbox was ended by SIGKILL.", isShort: true }),
  };
  const ended = new ChildSession(end, { limits, overheadBytes: 1 << 20, clock });
  expect(await ended.next()).toMatchObject({ step: "failed", why: "memory" });
  expect(bounds).toEqual([limits.memoryBytes + (1 << 20)]);
});

async function answerTo(onNext: string): Promise<ScriptStep> {
  return (await session(lyingChild(onNext))).next();
}

const call = '{ place: 0, tool: "echo", arguments: {} }';

it.each([
  ["bytes that are no frame", 'raw(Buffer.from("GET / HTTP/1.1\\r\\n\\r\\n"))'],
  ["a frame larger than may be", "raw(Buffer.from([0x7f, 0xff, 0xff, 0xff]))"],
  ["a frame that is no JSON", 'raw(framed("{nonsense"))'],
  ["a frame that is no UTF-8", "raw(Buffer.from([0, 0, 0, 2, 0xff, 0xfe]))"],
  ["a frame that is no object", 'raw(framed("[1]"))'],
  ["a frame nested deeper than may be", 'raw(framed("[".repeat(20000) + "]".repeat(20000)))'],
  ["another chain's token", 'say({ step: "done", token: "A".repeat(43) })'],
  ["no token", "raw(framed(JSON.stringify({ step: 'done' })))"],
  ["a step that is none", 'say({ step: "escape" })'],
  ["a failure for no known reason", 'say({ step: "failed", why: "because", message: "x" })'],
  ["calls that are no list", 'say({ step: "calls", calls: { length: 1 } })'],
  ["a call that is none", 'say({ step: "calls", calls: [5] })'],
  ["a call without a place", 'say({ step: "calls", calls: [{ tool: "echo", arguments: {} }] })'],
  ["a place left out", `say({ step: "calls", calls: [{ ...${call}, place: 1 }] })`],
  ["a place that comes twice", `say({ step: "calls", calls: [${call}, ${call}] })`],
  ["a place that is no number", `say({ step: "calls", calls: [{ ...${call}, place: "0" }] })`],
  ["a tool without a name", 'say({ step: "calls", calls: [{ place: 0, tool: "", arguments: {} }] })'],
  [
    "a tool with an endless name",
    'say({ step: "calls", calls: [{ place: 0, tool: "x".repeat(5000), arguments: {} }] })',
  ],
  ["arguments that are no object", 'say({ step: "calls", calls: [{ place: 0, tool: "echo", arguments: [] }] })'],
  ["a kind we do not know", `say({ step: "calls", calls: [{ ...${call}, kind: "root" }] })`],
  ["waiting for nothing", 'say({ step: "calls", calls: [] })'],
  [
    "two frames for one question",
    "const one = framed(JSON.stringify({ token, step: 'done', value: 1 })); raw(Buffer.concat([one, one]))",
  ],
  ["too many calls at once", 'raw(framed(JSON.stringify({ token, step: "calls", calls: Array(10001).fill(0) })))'],
])("ends a child that forges: %s", async (_, forged) => {
  expect(await answerTo(forged)).toMatchObject({ step: "failed", why: "protocol" });
});

it("drops wrong lines and extra fields", async () => {
  const step = await answerTo(
    `say({ step: "calls", calls: [{ ...${call}, line: -5, approved: true, principal: "root" }] })`,
  );
  expect(step).toEqual({ step: "calls", calls: [{ place: 0, tool: "echo", arguments: {} }] });
});

it("ends a child that floods frames without being asked", async () => {
  const own = await session(
    lyingChild(`say({ step: "calls", calls: [${call}] }); for (;;) say({ step: "done", value: "x".repeat(50000) })`),
  );
  const first = await own.next();
  expect(["calls", "failed"]).toContain(first.step);
  await started.at(-1)?.gone;
  if (first.step === "calls") own.settle([{ place: 0, status: "ok", value: null }]);
  expect(await own.next()).toMatchObject({ step: "failed", why: "protocol" });
});

it("requires places in order", async () => {
  const own = await session(lyingChild(`say({ step: "calls", calls: [{ ...${call}, place: turn === 1 ? 0 : 5 }] })`));
  await own.next();
  own.settle([{ place: 0, status: "ok", value: null }]);
  expect(await own.next()).toMatchObject({ why: "protocol" });
});

it.each([
  ["at its first frame", "process.exit(3)", 0],
  ["by a signal", "process.kill(process.pid, 'SIGSEGV')", 0],
  ["in the middle of a frame", "raw(Buffer.from([0, 0, 1, 0, 65])); process.exit(0)", 0],
  ["at its second frame", `if (turn === 2) process.exit(1); say({ step: "calls", calls: [${call}] })`, 1],
])("a child that dies %s is a crash, told once", async (_, dies, rounds) => {
  const own = await session(lyingChild(dies));
  for (let i = 0; i < rounds; i++) {
    expect(await own.next()).toMatchObject({ step: "calls" });
    own.settle([{ place: i, status: "ok", value: null }]);
  }
  const end = await own.next();
  expect(end).toMatchObject({ step: "failed", why: "crash" });
  expect(await own.next()).toBe(end);
});

it("reports a child that was killed while it waited", async () => {
  const own = await session(lyingChild(`say({ step: "calls", calls: [${call}] })`));
  await own.next();
  process.kill(Number(own.pid), "SIGKILL");
  own.settle([{ place: 0, status: "ok", value: null }]);
  expect(await own.next()).toMatchObject({ step: "failed", why: "crash" });
});

it("cuts printed text that the child does not cut", async () => {
  const step = await answerTo(
    'say({ step: "done", printed: Array.from({ length: 50 }, () => ({ stream: "out", text: "x".repeat(1000) })) })',
  );
  const length = step.printed?.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
  expect(length).toBeLessThanOrEqual(limits.outputBytes + 1_024);
});

it("bounds standard error of a child", async () => {
  const own = await session(lyingChild('process.stderr.write("x".repeat(1 << 20)); say({ step: "done", value: 1 })'));
  expect(await own.next()).toEqual({ step: "done", value: 1 });
});

it.each([
  ["cpu", "for (;;) {}", { cpuMs: 100 }],
  ["wall", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9)", { wallMs: 200 }],
  ["memory", "const held = []; for (;;) held.push(Buffer.alloc(10_000_000, 1))", { memoryBytes: 1 << 20 }],
])(
  "kills what goes past its %s and never comes back to it",
  async (why, hostile, given) => {
    const own = await session(lyingChild(hostile), { wallMs: 110_000, ...given }); // on a busy machine a second of a processor is a minute
    expect(await own.next()).toMatchObject({ step: "failed", why });
  },
  120_000,
);

it("reads processor time of a long turn from the kernel, without earlier use", async () => {
  const spins = "const until = performance.now() + 150; while (performance.now() < until); ";
  const child = await SandboxProcess.start(lyingChild(`${spins} say({ step: "calls", calls: [${call}] })`));
  started.push(child);
  const before = cpuMsOf(child.pid) ?? 0;
  const own = new ChildSession(child, { limits, overheadBytes: 192 << 20, clock });
  const begun = performance.now();
  const turn = own.next();
  let lookedMs = 0;
  setTimeout(() => {
    lookedMs = performance.now() - begun; // with the first look of the host, which is late where others keep it busy
  }, 20);
  await turn;
  const used = (cpuMsOf(child.pid) ?? 0) - before;
  expect(own.usedCpuMs).toBeGreaterThan(Math.min(used, 150) - lookedMs - 40); // the kernel counts by tens
  expect(own.usedCpuMs).toBeLessThanOrEqual(used + 20);
});

it("settles a place once", async () => {
  const own = await session(lyingChild(`say({ step: "calls", calls: [${call}] })`));
  await own.next();
  own.settle([{ place: 0, status: "ok", value: null }]);
  expect(() => own.settle([{ place: 0, status: "ok", value: null }])).toThrow("Place `0` is not waited for");
});

it("gives a child no environment, an empty folder and no open files", async () => {
  // Node reads the certificates it was told to add beside us, and what it spawns meanwhile inherits that file.
  const ends = String.raw`/\/postern-pipes-[^/]+\/\d+\.(in|out|err) \(deleted\)$/`;
  const certificates = JSON.stringify(process.env["NODE_EXTRA_CA_CERTS"] ?? "none");
  const own = await session(
    lyingChild(`const fs = require("node:fs"); say({ step: "done", value: { environment: Object.keys(process.env).filter((name) => !name.startsWith("__")),
      folder: fs.readdirSync("."), open: fs.readdirSync("/proc/self/fd").map((fd) => { try { return fs.readlinkSync("/proc/self/fd/" + fd) } catch { return "gone" } })
        .filter((target) => target.startsWith("/") && !target.startsWith("/dev/null") && !target.startsWith("/proc/") && !${ends}.test(target) && target !== ${certificates}) } })`),
  );
  expect(await own.next()).toEqual({ step: "done", value: { environment: [], folder: [], open: [] } });
});

it("says why a child cannot start", async () => {
  await expect(SandboxProcess.start({ ...lyingChild(""), command: "/nonexistent/engine" })).rejects.toThrow(
    "cannot be started",
  );
  await expect(SandboxProcess.start(lyingChild("", "process.exit(7)"))).rejects.toThrow("code 7");
  await expect(SandboxProcess.start(lyingChild("", "say({ ready: 1 })"))).rejects.toThrow("did not start");
});
