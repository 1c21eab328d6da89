/** The limits of a script are limits of one process: so it has one. */
import { afterAll, expect, it } from "vitest";
import { cpuMsOf, measured } from "../../../../test/fakes/process-tree.ts";
import { runPython } from "../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "./cpython.ts";
import { pythonSource } from "./prelude/prelude.ts";

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

const column = process.arch === "x64" ? 1 : 2;
const [, systemCalls = ""] = pythonSource("system_calls").split('"""');
const listed = systemCalls
  .split("\n")
  .filter((line) => !line.startsWith("#"))
  .flatMap((line) => line.split(", "))
  .map((entry) => Number(entry.split(" ")[column]))
  .filter((number) => Number.isSafeInteger(number));

it.skipIf(missing !== undefined)(
  "every system call that is not in the list is refused, those of later kernels too",
  async () => {
    const source = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
said = {}
probes = {335, 336}  # of x86-64: the kernel itself ends a process that makes these
for number in set(range(700)) - set(${JSON.stringify(listed)}) - probes:
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (1, 25, 38):
        said[number] = ctypes.get_errno()
[said, libc.syscall(500), ctypes.get_errno()]`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({ step: "done", value: [{}, -1, 1] });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "network, pipes, other programs and signals to them are refused, and files work",
  async () => {
    const source = `import os, pathlib, signal, socket, tempfile, threading
said = []
def attempt(function):
    try:
        said.append(str(function()))
    except OSError as error:
        said.append(type(error).__name__)
attempt(socket.socket)
attempt(socket.socketpair)
attempt(os.pipe)
attempt(lambda: os.execv("/usr/bin/python3", ["python3"]))
attempt(lambda: os.kill(1, signal.SIGTERM))
attempt(lambda: os.eventfd(0))
path = pathlib.Path("/workspace/a/b.txt")
path.parent.mkdir()
path.write_text("one")
path.rename("/workspace/a/c.txt")
with tempfile.TemporaryDirectory() as folder, open(folder + "/x", "w+b") as file:
    file.write(b"12345"), file.truncate(2), file.seek(0)
    size = len(file.read())
found = [str(each) for each in pathlib.Path("/workspace").rglob("*")]
os.remove("/workspace/a/c.txt"), os.rmdir("/workspace/a")
thread = threading.Thread(target=lambda: said.append("thread"))
thread.start(), thread.join()
[said, sorted(found), size]`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({
      step: "done",
      value: [[...Array(6).fill("PermissionError"), "thread"], ["/workspace/a", "/workspace/a/c.txt"], 2],
    });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "the environment of a script names no place of the host",
  async () => {
    const source = `import ctypes, os, sys
pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
at, found = 0, []
while pointer and pointer[at]:
    found.append(pointer[at].decode())
    at += 1
[dict(os.environ), found, os.getcwd(), sys.argv]`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({ value: [{}, [], "/workspace", ["script.py"]] });
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
