import type { JsonObject } from "@postern/core";
import { afterAll, describe, expect, it } from "vitest";
import {
  pythonLimits as limits,
  pythonProgram as program,
  runPython as run,
} from "../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "./cpython.ts";

const driver = new CpythonDriver();
const missing = new Map([["cpython", await driver.unavailable()]]);

afterAll(() => driver[Symbol.asyncDispose]());

describe("full Python on cpython", () => {
  it.skipIf(missing.get(driver.name) !== undefined)(
    "lists what there is when a tool is unknown, and refuses names that begin with _ (case 215)",
    async () => {
      const { last } = await run(
        driver,
        "said = []\nfor name in ['nope', '_secret']:\n    try:\n        getattr(tools, name)\n    except AttributeError as error:\n        said.append(str(error))\nsaid",
      );
      expect(last).toMatchObject({
        value: [
          expect.stringContaining("Available: broken, echo, fs.read, refuse"),
          expect.stringContaining("refused"),
        ],
      });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "raises a refusal with its code and advice (case 214)",
    async () => {
      const { last } = await run(
        driver,
        "try:\n    await tools.refuse(path='x')\nexcept ToolDenied as error:\n    r = [error.code, error.advice, isinstance(error, PermissionError), isinstance(error, ToolError)]\nr",
      );
      expect(last).toMatchObject({ value: ["approval_denied", "Ask them.", true, true] });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "leaves a script its own `json`: what it puts in the place of its functions is nobody else's",
    async () => {
      const source =
        "import json\njson.dumps = lambda value: 'mine'\njson.loads = lambda text: 'mine'\n[tools.echo(path='a').text, json.dumps(1), artifacts.put({'a': 1}), {2: 'b'}]";
      const { last } = await run(driver, source);
      expect(last).toMatchObject({ value: ["text of a", "mine", expect.any(String), { 2: "b" }] });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "makes tasks, groups and awaited lists of calls one batch",
    async () => {
      const source =
        "import asyncio\nasync def one(i):\n    return (await tools.echo(path=str(i))).text\nasync def main():\n    async with asyncio.TaskGroup() as group:\n        tasks = [group.create_task(one(i)) for i in range(2)]\n    kept = []\n    for i in range(2):\n        kept.append(asyncio.create_task(tools.echo(path='t%d' % i)))\n    for task in kept:\n        await task\n    return [task.result() for task in tasks]\nasyncio.run(main())";
      const { last, batches } = await run(driver, source);
      expect(batches.map((batch) => batch.length)).toEqual([2, 2]);
      expect(last).toMatchObject({ value: ["text of 0", "text of 1"] });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "keeps what is materialized as a file, and puts files and bytes as artifacts (cases 225, 226)",
    async () => {
      await using session = await driver.start(
        program(
          "r = tools.echo(path='big')\npath = r.materialize()\nbody = open(path).read()\n[path, body, artifacts.put(path, 'text/plain'), artifacts.put(b'\\x00', 'image/png')]",
        ),
        limits,
      );
      const asked: JsonObject[] = [];
      for (;;) {
        const step = await session.next();
        if (step.step !== "calls") {
          expect(step).toMatchObject({ value: ["/workspace/result_1.txt", "the whole", "sha256:p", "sha256:p"] });
          break;
        }
        const [call] = step.calls;
        if (call === undefined) throw new Error("No call.");
        asked.push({ kind: call.kind ?? "call", ...call.arguments });
        const value =
          {
            call: { text: "…", ref: "sha256:r" },
            materialize: { path: "/workspace/result_1.txt", text: "the whole" },
            artifact: { ref: "sha256:p" },
          }[String(call.kind ?? "call")] ?? {};
        await session.settle([{ place: call.place, status: "ok", value }]);
      }
      expect(asked.slice(1)).toEqual([
        { kind: "materialize", ref: "sha256:r" },
        { kind: "artifact", base64: Buffer.from("the whole").toString("base64"), type: "text/plain" },
        { kind: "artifact", base64: "AA==", type: "image/png" },
      ]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "hands a result with a reference on as the reference (case 216)",
    async () => {
      await using session = await driver.start(program("tools.echo(path=tools.echo(path='a'))"), limits);
      await session.next();
      await session.settle([{ place: 0, status: "ok", value: { text: "preview", ref: "sha256:big" } }]);
      expect(await session.next()).toMatchObject({ calls: [{ arguments: { path: { $artifact: "sha256:big" } } }] });
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "tells a deadlock, an exit, a syntax error and where an error was",
    async () => {
      const ends = [];
      for (const source of [
        "import asyncio\nawait asyncio.Event().wait()",
        "import sys\nsys.exit(3)",
        "x = (",
        "x = 1\n\nx / 0",
        "return 5",
      ])
        ends.push((await run(driver, source)).last);
      expect(ends).toMatchObject([
        { why: "deadlock" },
        { why: "script", message: "SystemExit: 3" },
        { why: "script", line: 1, message: expect.stringContaining("SyntaxError") },
        { why: "script", line: 3, message: "ZeroDivisionError: division by zero" },
        { step: "done", value: 5 },
      ]);
    },
    90_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "refuses arguments that are no JSON, naming what to do",
    async () => {
      const { last, batches } = await run(
        driver,
        "said = []\nfor value in [float('nan'), 2**70, object(), b'x', {1.5j: 1}]:\n    try:\n        tools.echo(path=value)\n    except (TypeError, ValueError) as error:\n        said.append(type(error).__name__)\nsaid",
      );
      expect([last, batches]).toMatchObject([
        { value: ["ValueError", "ValueError", "TypeError", "TypeError", "TypeError"] },
        [],
      ]);
    },
    60_000,
  );

  it.skipIf(missing.get(driver.name) !== undefined)(
    "holds no environment, no file of the host, no network, no program",
    async () => {
      const source = `import os, socket
found = []
def attempt(name, function):
    try:
        found.append([name, str(function())[:60]])
    except BaseException as error:
        found.append([name, None])
attempt("passwd", lambda: open("/etc/passwd").read())
attempt("environ", lambda: open("/proc/self/environ").read() or None)
attempt("root", lambda: open("/root/.bashrc").read())
attempt("home", lambda: os.environ["POSTERN_CANARY"])
attempt("network", lambda: socket.create_connection(("127.0.0.1", 22), 1))
attempt("names", lambda: socket.gethostbyname("example.org"))
attempt("program", lambda: __import__("subprocess").check_output(["/usr/bin/id"]))
attempt("system", lambda: os.execv("/bin/sh", ["sh"]))
def alive(number):
    try:
        os.kill(number, 0)
        return True
    except ProcessLookupError:
        return False
attempt("processes", lambda: [number for number in range(1, 40000) if alive(number) and number not in (1, os.getpid())] or 1 / 0)
attempt("namespace", lambda: __import__("ctypes").CDLL("libc.so.6").unshare(0x10000000) == 0 or 1 / 0)
[each for each in found if each[1] is not None and each[0] != "names" and not each[1].startswith("b''")]`;
      process.env["POSTERN_CANARY"] = "canary";
      const { last } = await run(driver, source);
      delete process.env["POSTERN_CANARY"];
      expect(last).toMatchObject({ step: "done", value: [] });
    },
    60_000,
  );
});

it.skipIf(missing.get("cpython") !== undefined)(
  "holds a fork bomb on cpython, and nothing of it is left",
  async () => {
    const { last } = await run(
      driver,
      "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
      { cpuMs: 800, wallMs: 4_000 },
    );
    expect(last.step).toBe("failed");
    const { last: after } = await run(driver, "1 + 1");
    expect(after).toMatchObject({ value: 2 });
  },
  60_000,
);
