import type { ScriptProgram, ScriptStep } from "@postern/core/sandbox";
import { afterAll, describe, expect, it } from "vitest";
import { PyodideDriver } from "./pyodide.ts";

const limits = { cpuMs: 20_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 20_000, wallMs: 40_000 };
const driver = new PyodideDriver({ warm: 0, most: 2 });
const missing = await driver.unavailable();

afterAll(() => driver[Symbol.asyncDispose]());

function program(source: string): ScriptProgram {
  const inputSchema = { type: "object", properties: { path: { type: "string" } } };
  const tools = [{ name: "echo", server: undefined, short: "echo", description: "Says it again.", inputSchema }];
  return { language: "python", source, tools, chainId: "chain_1", startedAt: Date.UTC(2026, 10, 20) };
}

/** Starting it takes seconds of a processor: one script shows much. */
async function run(
  source: string,
  own: Partial<typeof limits> = {},
): Promise<{ readonly last: ScriptStep; readonly batches: readonly number[] }> {
  await using session = await driver.start(program(source), { ...limits, ...own });
  const batches: number[] = [];
  for (;;) {
    const last = await session.next();
    if (last.step !== "calls") return { last, batches };
    batches.push(last.calls.length);
    await session.settle(
      last.calls.map(({ place, arguments: { path } }) => ({
        place,
        status: "ok",
        value: { text: `text of ${String(path)}` },
      })),
    );
  }
}

describe.skipIf(missing !== undefined)("Pyodide", () => {
  it("has no path of the host in its environment", async () => {
    const { last } = await run(`
import js, os, sys
[dict(os.environ), sys.executable, sys.argv, sys.orig_argv, os.getcwd(), hasattr(js, "Deno"), hasattr(js, "process")]`);
    expect(last).toMatchObject({ step: "done" });
    const said = JSON.stringify(last);
    for (const place of [process.cwd(), import.meta.dirname, "postern-empty", "inside-pyodide"])
      expect(said).not.toContain(place);
    expect(said).toContain('"/workspace",false,false]');
  }, 60_000);

  it("runs full Python, waits for calls, and makes gathered calls together", async () => {
    const { last, batches } = await run(`
import asyncio, json
from dataclasses import dataclass, asdict
@dataclass
class Row:
    name: str
    price: float = 1234.5
one = tools.echo(path="a")
async def main():
    both = await asyncio.gather(tools.echo(path="b"), tools.echo(path="c"))
    return [each.text for each in both]
{"one": one.text, "both": asyncio.run(main()), "row": asdict(Row("x")), "said": f"{Row('x').price:,.2f}"}`);
    expect(last).toMatchObject({
      value: {
        one: "text of a",
        both: ["text of b", "text of c"],
        row: { name: "x", price: 1234.5 },
        said: "1,234.50",
      },
    });
    expect(batches).toEqual([1, 2]);
  }, 120_000);

  it("replays alike, helps, imports tools, knows time zones, runs threads in place", async () => {
    const source = `
import random, time, uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from zoneinfo import ZoneInfo
from tools import echo
class A: pass
help("words")
with ThreadPoolExecutor() as pool:
    texts = list(pool.map(lambda n: echo(path=str(n)).text, range(2)))
[texts, str(datetime.now()), time.time(), random.random(), str(uuid.uuid4()), str(A()), ",".join({"a", "b", "c", "d"}), hash("a"),
    datetime(2026, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")).isoformat()]`;
    const [first, second] = [await run(source), await run(source)];
    expect(first).toMatchObject({ last: { step: "done", value: expect.any(Array) }, batches: [1, 1, 1] });
    expect(second).toEqual(first);
    expect(JSON.stringify(first.last)).toContain("2026-07-01T00:00:00+02:00");
  }, 240_000);

  it("gives no way out by JavaScript, files, environment, network or programs", async () => {
    const { last } = await run(`
import js, os, socket
from pyodide.code import run_js
found = []
def attempt(name, function):
    try:
        found.append([name, str(function())[:80]])
    except BaseException as error:
        pass
attempt("file", lambda: js.Deno.readTextFileSync("/etc/passwd"))
attempt("process", lambda: js.Deno.readTextFileSync("/proc/self/environ"))
attempt("variable", lambda: js.Deno.env.get("PATH"))
attempt("program", lambda: run_js("new Deno.Command('/usr/bin/id').outputSync()"))
attempt("write", lambda: run_js("Deno.writeTextFileSync('/tmp/escaped', 'x'), 1"))
attempt("library", lambda: run_js("Deno.dlopen('/lib/x86_64-linux-gnu/libc.so.6', {}), 1"))
attempt("listen", lambda: run_js("Deno.listen({ port: 0 }), 1"))
attempt("host", lambda: run_js("Deno.hostname()"))
attempt("kill", lambda: run_js("Deno.kill(1), 1"))
attempt("passwd", lambda: open("/etc/passwd").read())
attempt("socket", lambda: socket.create_connection(("127.0.0.1", 22), 1))
found`);
    expect(last).toMatchObject({ step: "done", value: [] });
  }, 120_000);

  it("stops an endless loop, and reports an early exit (case 230)", async () => {
    expect((await run("while True:\n    pass", { cpuMs: 500, wallMs: 5_000 })).last).toMatchObject({
      step: "failed",
      why: expect.stringMatching(/^(cpu|wall)$/),
    });
    expect((await run("import js\njs.Deno.exit(0)")).last).toMatchObject({ step: "failed", why: "script" }); // it is not there
    expect((await run("import os\nos._exit(0)")).last).toMatchObject({ step: "failed" });
  }, 120_000);
});
