import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { driven } from "../../../test/fakes/driven.ts";
import type { ScriptStep } from "../sandbox.ts";
import { RunscDriver } from "./driver.ts";

const driver = new RunscDriver({ warm: 0 });
afterAll(() => driver[Symbol.asyncDispose]());
const problem = await driver.unavailable();
const pids = existsSync("/sys/fs/cgroup/pids") ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
const limits = { cpuMs: 3_000, memoryBytes: 128 * 1024 * 1024, outputBytes: 100_000, wallMs: 30_000 };
const last = (source: string, more: Partial<typeof limits> = {}): Promise<ScriptStep> =>
  driven(driver, source, { ...limits, ...more });

if (problem !== undefined) process.stderr.write(`NOT TESTED: Python in gVisor cannot run here: ${problem}\n`);

describe.skipIf(problem !== undefined)("Python in gVisor", { timeout: 60_000 }, () => {
  it("runs a script that calls tools", async () => {
    expect(await last('a = tools.echo(to="x")\nb = tools.echo(to=a.text + "y")\nb.text')).toMatchObject({
      step: "done",
      value: "xy",
    });
  });

  it("sees no file, no network, no environment, no process of the host", async () => {
    const source = `import os, socket
found = [path for path in ["/etc/passwd", "/root", "/home", "/work", "/var/run/docker.sock", "/dev/kvm"] if os.path.exists(path)]
for family, to in [(socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET6, ("2606:4700:4700::1111", 53))]:
    try:
        s = socket.socket(family, socket.SOCK_STREAM)
        s.settimeout(1)
        s.connect(to)
        found.append("network")
    except OSError:
        pass
[found, os.environ.get("PATH"), os.getuid(), len([p for p in os.listdir("/proc") if p.isdigit()])]`;
    expect(await last(source)).toMatchObject({ step: "done", value: [[], null, 65534, 1] });
  });

  it("runs in its own kernel and writes only to two folders in memory", async () => {
    const source = `import os
written = []
for folder in ["/", "/usr/lib", "/lib", "/tmp", "/workspace", "/proc", "/dev"]:
    try:
        open(os.path.join(folder, "x"), "w").close()
        written.append(folder)
    except OSError:
        pass
["gvisor" in open("/proc/version").read().lower() or os.uname().release == "4.4.0", written]`;
    expect(await last(source)).toMatchObject({ step: "done", value: [true, ["/tmp", "/workspace"]] });
  });

  it("ends an endless loop for its processor time, also one that calls tools", async () => {
    expect(await last("while True:\n    pass")).toMatchObject({ step: "failed", why: "cpu" });
    const busy = "n = 0\nwhile True:\n    n += 1\n    if n % 2_000_000 == 0:\n        tools.echo(to='x')";
    expect(await last(busy)).toMatchObject({ step: "failed", why: "cpu" });
  });

  it("limits the memory of a script and of its children", async () => {
    expect(await last("x = []\nwhile True:\n    x.append(bytearray(10_000_000))")).toMatchObject({
      step: "failed",
      why: "memory",
    });
  });

  it("contains a fork bomb and ends it with the script", async () => {
    const bomb =
      "import os\nfor _ in range(100000):\n    try:\n        os.fork()\n    except OSError:\n        pass\n'out'";
    const end = await last(bomb, { cpuMs: 2_000, wallMs: 5_000 });
    expect(end.step).toBe("failed");
    await driver[Symbol.asyncDispose]();
    expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toMatch(
      /runsc-(sandbox|gofer).*postern-runsc/,
    );
  });

  it("ends when its host is killed", async () => {
    const host = `import { RunscDriver } from ${JSON.stringify(new URL("./driver.ts", import.meta.url).href)};
const driver = new RunscDriver({ warm: 0 });
const source = "import time\\nwhile True:\\n    time.sleep(1)";
const program = { language: "python", source, tools: [], chainId: "c" };
const session = await driver.start(program, ${JSON.stringify({ ...limits, wallMs: 600_000 })});
session.next();
process.stdout.write("runs");
setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", host], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const name = readdirSync(pids).find((group) => group.startsWith(`postern-runsc-${child.pid}-`)) ?? "none";
    const [container = "none"] = readdirSync(join(pids, name), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
    const held = (): string => readFileSync(join(pids, name, container, "cgroup.procs"), "latin1").trim();
    expect(held().split("\n").length).toBeGreaterThan(1);
    child.kill("SIGKILL");
    await expect.poll(held).toBe("");
    for (const path of new Set([join(pids, name), join(pids, name).replace("/pids/", "/memory/")])) {
      rmdirSync(join(path, container));
      rmdirSync(path);
    }
  });

  it("leaves no container and no control group", async () => {
    const other = new RunscDriver({ warm: 1 });
    expect(await driven(other, "1 + 1", limits)).toMatchObject({ value: 2 });
    await other[Symbol.asyncDispose]();
    await expect
      .poll(() => readdirSync(pids).filter((name) => name.startsWith(`postern-runsc-${process.pid}`)))
      .toEqual([]);
  });
});

it("says why it cannot run here", () => {
  if (problem !== undefined) expect(problem).toMatch(/gVisor|runsc|python3|bounded/);
  expect(driver.capabilities).toMatchObject({ isolation: "kernel", durability: "replay" });
});
