import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { usageOf } from "./usage.ts";

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

describe.skipIf(process.platform !== "linux")("the usage of a process", () => {
  it("includes all that it started, also later", async () => {
    const { pid, more } = await shell();
    expect(usageOf(pid)?.residentBytes).toBeLessThan(64 << 20);
    await more();
    expect(usageOf(pid)?.residentBytes).toBeGreaterThan(64 << 20);
    await more();
    expect(usageOf(pid)?.residentBytes).toBeGreaterThan(128 << 20);
    await expect.poll(() => usageOf(pid)?.cpuMs, { timeout: 30_000 }).toBeGreaterThan(500);
  });

  it("is undefined when the process is gone", async () => {
    const { pid } = await shell();
    expect(usageOf(pid)).toBeDefined();
    const [child] = started.splice(0);
    process.kill(-pid, "SIGKILL");
    if (child?.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(usageOf(pid)).toBeUndefined();
  });
});
