import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/fakes/clock.ts";
import { ProcessTree } from "./kernel-tells.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid = 0 } of started.splice(0)) process.kill(-pid, "SIGKILL");
});

/** A shell that starts a process which takes 64 MiB and computes, each time it is told to. */
async function shell(): Promise<{ readonly pid: number; more(): Promise<void> }> {
  const hungry = `const all = Buffer.alloc(64 << 20, 1); console.log(all.length); for (;;);`;
  const child = spawn(
    "/bin/sh",
    ["-c", `while read -r line; do "$0" -e '${hungry}' & done; sleep 100`, process.execPath],
    {
      detached: true,
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  started.push(child);
  await once(child, "spawn");
  return {
    pid: child.pid ?? 0,
    more: async () => {
      child.stdin.write("more\n");
      await once(child.stdout, "data");
    },
  };
}

/** What this process has open of what the kernel tells of others: pipes are opened and closed meanwhile. */
function openFiles(): number {
  const told = /^\/proc\/\d+\/(?!fd)/;
  return readdirSync("/proc/self/fd").filter((name) => {
    try {
      return told.test(readlinkSync(`/proc/self/fd/${name}`));
    } catch {
      return false; // closed since
    }
  }).length;
}

describe.skipIf(process.platform !== "linux")("what the kernel tells of a process", () => {
  it("is of all that it started, too, those of later included", async () => {
    const { pid, more } = await shell();
    const clock = new FakeClock();
    const tree = new ProcessTree(pid, clock);
    expect(tree.measure()?.residentBytes).toBeLessThan(64 << 20);
    await more();
    await clock.advance(1_000);
    expect(tree.measure()?.residentBytes).toBeGreaterThan(64 << 20);
    await more();
    await clock.advance(1_000);
    expect(tree.measure()?.residentBytes).toBeGreaterThan(128 << 20);
    await expect.poll(() => tree.measure()?.cpuMs, { timeout: 30_000 }).toBeGreaterThan(500);
    tree.close();
  });

  it("leaves nothing open once it is closed, and can be read again", async () => {
    const { pid, more } = await shell();
    await more();
    const clock = new FakeClock();
    const tree = new ProcessTree(pid, clock);
    for (let i = 0; i < 5; i++) {
      expect(tree.measure()).toBeDefined();
      await clock.advance(300);
    }
    expect(openFiles()).toBe(2);
    tree.close();
    expect(openFiles()).toBe(0);
    expect(tree.measure()?.residentBytes).toBeGreaterThan(64 << 20);
    tree.close();
    expect(openFiles()).toBe(0);
  });

  it("is nothing of one that is gone, also where it was known before", async () => {
    const { pid } = await shell();
    const tree = new ProcessTree(pid, new FakeClock());
    expect(tree.measure()).toBeDefined();
    const [child] = started.splice(0);
    process.kill(-pid, "SIGKILL");
    if (child?.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(tree.measure()).toBeUndefined();
    tree.close();
    expect(tree.measure()).toBeUndefined();
  });
});
