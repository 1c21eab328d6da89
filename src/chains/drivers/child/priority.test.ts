import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { afterEach, expect, it } from "vitest";
import { SystemClock } from "../../../calls/clock.ts";
import { busyNiceness, sandboxNiceness, standBack } from "./priority.ts";
import { CpuMeter } from "./watch.ts";

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

function sessionNiceness(pid: number): string | undefined {
  const path = `/proc/${pid}/autogroup`;
  return existsSync(path) ? /nice (-?\d+)/.exec(readFileSync(path, "latin1"))?.[1] : undefined;
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

it.skipIf(process.platform !== "linux")("what computes long stands back with all it has started", async () => {
  const pid = session();
  await expect.poll(() => commandOf(firstChildOf(pid))).toBe("sleep\n"); // from then on it is a session of its own
  const inner = firstChildOf(pid);
  new CpuMeter(pid, new SystemClock()).slowDown();
  expect([getPriority(pid), getPriority(inner)]).toEqual([busyNiceness, busyNiceness]);
  for (const each of [pid, inner]) expect([undefined, String(busyNiceness)]).toContain(sessionNiceness(each));
});

it("one that has ended is nobody's trouble", () => {
  expect(() => standBack(2 ** 22 + 1, busyNiceness)).not.toThrow();
});
