/** The limits of a script are limits of one process: so it has one. */
import { afterAll, expect, it } from "vitest";
import { cpuMsOf, measured } from "../../../../../test/fakes/process-tree.ts";
import { runPython } from "../../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "./cpython.ts";

const driver = new CpythonDriver({ warm: 1 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

const many = (work: string): string => `import os, time
forked = 0
for _ in range(12):
    try:
        if os.fork() == 0:
            ${work}
            os._exit(0)
        forked += 1
    except OSError:
        pass
${work}
forked`;

it.skipIf(missing !== undefined)(
  "memory is not had twelve times by twelve processes",
  async () => {
    const source = many("held = bytearray(20_000_000)");
    const { last } = await runPython(driver, source, { memoryBytes: 64 * 1024 * 1024 });
    expect(last).toMatchObject({ step: "done", value: 0 });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "processor time is not had twelve times by twelve processes",
  async () => {
    const before = ownCpuMs();
    const { last } = await runPython(driver, many("while True: pass"), { cpuMs: 500 });
    expect(last).toMatchObject({ step: "failed", why: "cpu" });
    expect(ownCpuMs() - before).toBeLessThan(500 + 1_000 + startsMs);
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "no way leads to another process, or to memory that no limit counts",
  async () => {
    const source = `import ctypes, os, subprocess
libc, said = ctypes.CDLL(None, use_errno=True), []
def attempt(function):
    try:
        said.append(str(function()))
    except OSError as error:
        said.append(error.errno)
attempt(os.fork)
attempt(lambda: subprocess.run(["/usr/bin/python3"]))
attempt(lambda: os.posix_spawn("/usr/bin/python3", ["python3"], {}))
attempt(lambda: os.memfd_create("x"))
attempt(lambda: [os.dup(0) for _ in range(100)])
[said, libc.fork(), libc.vfork(), libc.shmget(0, 1 << 20, 0o1600), libc.prctl(22, 0, 0, 0, 0)]`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({ value: [[1, 1, 1, 1, 24], -1, -1, -1, -1] });
  },
  60_000,
);

it.skipIf(missing !== undefined || process.platform !== "linux")(
  "the host counts what Python uses, not what stands before it",
  async () => {
    const source = "held = bytearray(30_000_000)\nfor i in range(12_000_000):\n    pass\ntools.echo(path='a')";
    await using session = await driver.start(
      { language: "python", source, tools: [echo], chainId: "chain_1" },
      { cpuMs: 20_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 1_000, wallMs: 50_000 },
    );
    expect(await session.next()).toMatchObject({ step: "calls" });
    const pid = "pid" in session && typeof session.pid === "number" ? session.pid : 0;
    expect(cpuMsOf(pid)).toBeGreaterThan(100);
    expect(measured(pid)?.residentBytes).toBeGreaterThan(30_000_000);
  },
  60_000,
);

const echo = {
  name: "echo",
  server: undefined,
  short: "echo",
  description: "",
  inputSchema: { properties: { path: {} } },
};
/** Of the processes that are started meanwhile: this script's and the next one's. */
const startsMs = 2_000;

function ownCpuMs(): number {
  return cpuMsOf(process.pid) ?? 0;
}
