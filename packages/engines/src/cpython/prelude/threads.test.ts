/** What ordinary Python does besides: pools of threads, tools that are imported, places in the world. */
import { afterAll, expect, it } from "vitest";
import { runPython } from "../../../../../test/fakes/python-scripts.ts";
import { CpythonDriver } from "../cpython.ts";

const driver = new CpythonDriver({ warm: 1 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

it.skipIf(missing !== undefined)(
  "what the threads of a pool ask for is asked for together, in the same order every time",
  async () => {
    const source = `from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(max_workers=3) as pool:
    found = list(pool.map(lambda n: tools.echo(path=str(n)).text, range(5)))
found`;
    for (let time = 0; time < 2; time++) {
      const { last, batches } = await runPython(driver, source);
      expect(last).toMatchObject({ value: [0, 1, 2, 3, 4].map((n) => `text of ${n}`) });
      expect(batches.map((batch) => batch.map((call) => call.arguments["path"]))).toEqual([
        ["0", "1", "2"],
        ["3", "4"],
      ]);
    }
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "a pool's futures are what Python's are",
  async () => {
    const source = `import asyncio, threading
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
said, lock = [], threading.Lock()
def work(n):
    with lock:
        said.append(n)
    return tools.fs.read(path=str(n)).text
pool = ThreadPoolExecutor()
futures = {pool.submit(work, n): n for n in range(3)}
done = [(futures[each], each.result()) for each in as_completed(futures)]
failed = pool.submit(lambda: tools.broken(path="x"))
nested = pool.submit(lambda: pool.submit(work, 7).result())
never = pool.submit(work, 8)
never.cancel()
called = []
failed.add_done_callback(lambda future: called.append(future.done()))
ends = [type(failed.exception()).__name__, nested.result(), never.cancelled(), called, len(wait([failed, nested]).done)]
pool.shutdown()
try:
    pool.submit(work, 9)
except RuntimeError as error:
    ends.append(str(error))
ends.append(await asyncio.to_thread(work, 4))
ends.append(await asyncio.get_running_loop().run_in_executor(None, work, 5))
[done, said, ends]`;
    expect((await runPython(driver, source)).last).toMatchObject({
      value: [
        [0, 1, 2].map((n) => [n, `text of ${n}`]),
        [0, 1, 2, 7, 4, 5],
        [
          ...["ToolError", "text of 7", true, [true], 2, "cannot schedule new futures after shutdown"],
          ...["text of 4", "text of 5"],
        ],
      ],
    });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "a lock that is held over a call stops nobody for good, and plain threads may call as well",
  async () => {
    const source = `import threading
from concurrent.futures import ThreadPoolExecutor
lock, said = threading.Lock(), []
def work(n):
    with lock:
        said.append(tools.echo(path=str(n)).text)
with ThreadPoolExecutor() as pool:
    list(pool.map(work, range(2)))
threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3)]
[each.start() for each in threads]
[each.join() for each in threads]
sorted(said)`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({ value: [0, 1, 2, 3].map((n) => `text of ${n}`) });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "tools can be imported by name",
  async () => {
    const source = `import tools as every, tools.fs
from tools import echo
from tools.fs import read
try:
    from tools import nothing
except ImportError as error:
    said = str(error)
[echo(path="a").text, read(path="b").text, every is tools, "nothing" in said]`;
    expect((await runPython(driver, source)).last).toMatchObject({ value: ["text of a", "text of b", true, true] });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "timeouts of futures are by the script's own clock, of which a call takes nothing",
  async () => {
    const source = `import time
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
said = []
def slow(seconds):
    time.sleep(seconds)
    return echo(path=str(seconds)).text
def nap(seconds):
    time.sleep(seconds)
    return seconds
def attempt(work):
    try:
        said.append(work())
    except TimeoutError as error:
        said.append("late " + str(error))
pool = ThreadPoolExecutor()
attempt(lambda: pool.submit(slow, 0).result(timeout=0.1))
late = pool.submit(slow, 0.2)
attempt(lambda: late.result(timeout=0.1))
attempt(lambda: late.result(timeout=0.1))
attempt(lambda: pool.submit(slow, 0.2).exception(timeout=0.1))
attempt(lambda: [each.result() for each in as_completed([pool.submit(nap, n) for n in (0, 0.2)], timeout=0.1)])
attempt(lambda: list(pool.map(slow, [0.2], timeout=0.1)))
both = [pool.submit(nap, n) for n in (0, 0.2)]
done, left = wait(both, timeout=0.1)
[*said, both[0] in done, both[1] in left, len(wait(both)[0])]`;
    const [first, second] = [await runPython(driver, source), await runPython(driver, source)];
    expect(first.last).toMatchObject({
      value: ["text of 0", "late ", "text of 0.2", "late ", "late 1 (of 2) futures unfinished", "late ", true, true, 2],
    });
    expect(second).toEqual(first);
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "zones of the world are those of the machine, or are said not to be there",
  async () => {
    const source = `from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
try:
    found = datetime(2026, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")).isoformat()
except ZoneInfoNotFoundError:
    found = "none"
found`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({ value: expect.stringMatching(/^(2026-07-01T00:00:00\+02:00|none)$/) });
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "threads are waited for at the script's end, as Python does, and daemons are not",
  async () => {
    const source = `import threading, time
def work(names):
    for name in names:
        time.sleep(0.01)
        tools.echo(path=name)
threading.Thread(target=work, args=(["a", "b"],)).start()
threading.Thread(target=lambda: time.sleep(600), daemon=True).start()
"end"`;
    const { last, batches } = await runPython(driver, source);
    expect(last).toMatchObject({ step: "done", value: "end" });
    expect(batches.flat().map((call) => call.arguments["path"])).toEqual(["a", "b"]);
  },
  60_000,
);

it.skipIf(missing !== undefined)(
  "reports all that failed together, each with its code",
  async () => {
    const source = `import asyncio
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(tools.refuse(path="x"))
        group.create_task(tools.broken(path="y"))
await main()`;
    const { last } = await runPython(driver, source);
    expect(last).toMatchObject({
      ...{ step: "failed", why: "script" },
      message: expect.stringMatching(
        /ToolDenied \(approval_denied\): A person refused[^;]*; ToolError \(tool_failed\): It broke/,
      ),
    });
  },
  60_000,
);
