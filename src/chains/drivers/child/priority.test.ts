import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../../test/fakes/clock.ts";
import { lyingChild } from "../../../../test/fakes/lying-child.ts";
import { SystemClock } from "../../../calls/clock.ts";
import { SandboxProcess } from "./child-process.ts";
import { ChildPool } from "./pool.ts";
import { backgroundNiceness, sandboxNiceness, standBack, withoutHaste } from "./priority.ts";
import { CpuMeter, watchTurn } from "./watch.ts";

const children: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** A shell in a session of its own, which has started another one. */
function session(): number {
  const child = spawn("/bin/sh", ["-c", "setsid sleep 60 & wait"], { detached: true, stdio: "ignore" });
  children.push(child);
  return child.pid ?? 0;
}

/** Without CAP_SYS_ADMIN the kernel takes one change of a session's niceness in a tenth of a second, of all processes. */
const setsSessions = (BigInt(`0x${capabilities()}`) & (1n << 21n)) !== 0n;
if (!setsSessions) console.warn("SKIPPED: the niceness of sessions: this process may not set it reliably");

function capabilities(): string {
  const path = "/proc/self/status";
  return (existsSync(path) ? /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync(path, "latin1"))?.[1] : undefined) ?? "0";
}

function sessionNiceness(pid: number): string | undefined {
  const path = `/proc/${pid}/autogroup`;
  return setsSessions && existsSync(path) ? /nice (-?\d+)/.exec(readFileSync(path, "latin1"))?.[1] : undefined;
}

function commandOf(pid: number): string | undefined {
  return existsSync(`/proc/${pid}/comm`) ? readFileSync(`/proc/${pid}/comm`, "latin1") : undefined;
}

function firstChildOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ")[0]);
}

it("a process stands back, and with it the session by which the kernel shares processors", () => {
  const pid = session();
  standBack(pid, sandboxNiceness);
  expect(getPriority(pid)).toBe(sandboxNiceness);
  expect([undefined, String(sandboxNiceness)]).toContain(sessionNiceness(pid));
});

it.skipIf(process.platform !== "linux").each([
  ["that somebody waits for", 0, sandboxNiceness],
  ["that nobody waited for", 1, backgroundNiceness],
])("a sandbox %s stands back when it is ready, its threads and its session too", async (_, warm, niceness) => {
  await using pool = new ChildPool(lyingChild('say({ step: "done" })'), { warm, most: 2, startsAtOnce: 1 });
  if (warm > 0) pool.warm();
  await expect.poll(() => pool.ready).toBe(warm);
  const child = await pool.take();
  const threads = readdirSync(`/proc/${child.pid}/task`).map(Number);
  expect(new Set(threads.map((thread) => getPriority(thread)))).toEqual(new Set([niceness]));
  expect([undefined, String(niceness)]).toContain(sessionNiceness(child.pid));
  child.kill();
  await child.gone;
});

it.skipIf(process.platform !== "linux")("what computes long stands back with all it has started", async () => {
  const pid = session();
  await expect.poll(() => commandOf(firstChildOf(pid))).toBe("sleep\n"); // from then on it is a session of its own
  const inner = firstChildOf(pid);
  new CpuMeter(pid, new SystemClock()).slowDown();
  expect([getPriority(pid), getPriority(inner)]).toEqual([backgroundNiceness, backgroundNiceness]);
  for (const each of [pid, inner]) expect([undefined, String(backgroundNiceness)]).toContain(sessionNiceness(each));
});

/** Told to, it computes for so long that one turn of it is not too much, and says that it has. */
const computesInTurns = `process.stdin.on("data", () => {
  const from = process.cpuUsage(), used = () => { const { user, system } = process.cpuUsage(from); return user + system };
  while (used() < 65_000);
  console.log("done");
}); console.log("here")`;

it.skipIf(process.platform !== "linux")(
  "what computes in several turns stands back for all of them together",
  async () => {
    const child = spawn(process.execPath, ["-e", computesInTurns], {
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
    children.push(child);
    await once(child.stdout, "data");
    const pid = child.pid ?? 0;
    standBack(pid, sandboxNiceness);
    const clock = new FakeClock();
    const meter = new CpuMeter(pid, clock);
    const limits = { cpuMs: 60_000, wallMs: 60_000, memoryBytes: 2 ** 40 };
    const turn = async (): Promise<number> => {
      const unwatch = watchTurn({ meter, clock }, limits, () => undefined);
      await clock.advance(20); // the first look
      child.stdin.write("go");
      await once(child.stdout, "data");
      await clock.advance(100);
      unwatch();
      return getPriority(pid);
    };
    expect(await turn()).toBe(sandboxNiceness);
    expect(await turn()).toBe(backgroundNiceness);
  },
);

/** The class in which the kernel shares processors: 0 is the usual one, 3 is `SCHED_BATCH`. */
function classOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[38]);
}

const hasClass = spawnSync("/usr/bin/chrt", ["--batch", "0", "/bin/true"]).status === 0;

describe.runIf(hasClass)("a sandbox", () => {
  it.each([true, false])("takes no processor from who has it only because it woke (closed in: %s)", async (closed) => {
    const child = await SandboxProcess.start({ ...lyingChild('say({ step: "done" })'), closed });
    try {
      const threads = readdirSync(`/proc/${child.pid}/task`);
      expect(new Set(threads.map((thread) => classOf(Number(thread))))).toEqual(new Set([3]));
      expect(classOf(process.pid)).toBe(0);
    } finally {
      child.kill();
      await child.gone;
    }
  });

  it("that is not there is asked for as it is, so that its name is told", async () => {
    expect(await withoutHaste("/nonexistent/engine", ["--flag"])).toEqual({
      command: "/nonexistent/engine",
      args: ["--flag"],
    });
  });
});

it("one that has ended is nobody's trouble", () => {
  expect(() => standBack(2 ** 22 + 1, backgroundNiceness)).not.toThrow();
});
