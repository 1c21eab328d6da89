/** Known escapes from Python and JavaScript sandboxes, in the engines that run Python. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScriptStep } from "../../../packages/core/src/sandbox/sandbox.ts";
import { corpus } from "../../fakes/corpus.ts";
import { type EngineUnderTest, enginesHere } from "../../fakes/engine-fixture.ts";
import { driveScript, someTools } from "../../fakes/scripts.ts";

interface Escape {
  readonly src: string;
  readonly code: string;
}

const engines = (await enginesHere()).filter(({ language, missing }) => language === "python" && missing === undefined);
const folder = mkdtempSync(join(tmpdir(), "postern-canary-"));
const place = join(folder, "canary");
const canary = `canary-${process.pid}-${"y".repeat(8)}`;
const own = [Object.prototype, Function.prototype, Array.prototype, Promise.prototype, Error.prototype];
const before = own.map((it) => Reflect.ownKeys(it).map(String).join());
const limits = { cpuMs: 10_000, memoryBytes: 64 << 20, outputBytes: 200_000, wallMs: 30_000 };

beforeAll(() => {
  writeFileSync(place, canary);
  process.env["POSTERN_CANARY"] = canary;
});
afterAll(async () => {
  delete process.env["POSTERN_CANARY"];
  rmSync(folder, { recursive: true });
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

/** Each escape is an expression; one script tries them all, so that a full Python starts once. */
const greedy = [
  `open(${JSON.stringify(place)}).read()`,
  `__import__("pathlib").Path(${JSON.stringify(place)}).read_text()`,
  'dict(__import__("os").environ)',
  '__import__("os").popen("env").read()',
  '__import__("os").listdir("/root")',
  `__import__("os").listdir(${JSON.stringify(folder)})`,
  '__import__("subprocess").check_output(["/bin/sh", "-c", "env; cat /etc/shadow"])',
  'open("/proc/1/environ").read()',
  'open("/proc/%d/environ" % __import__("os").getppid()).read()',
  `open("/proc/self/root" + ${JSON.stringify(place)}).read()`,
  `open("/proc/1/root" + ${JSON.stringify(place)}).read()`,
  `open("/proc/%d/cwd/package.json" % __import__("os").getppid()).read()`,
  "[c for c in ().__class__.__bases__[0].__subclasses__() if c.__name__ == 'Popen'][0](['/usr/bin/env'], stdout=-1).communicate()",
  "[c for c in ().__class__.__bases__[0].__subclasses__() if 'wrap_close' in c.__name__][0].__init__.__globals__['system']('env') and None",
  "tools.echo.__init__.__globals__",
  "tools.echo.__call__.__globals__['bridge'].exchange",
  '__import__("ctypes").CDLL(None).getenv(b"POSTERN_CANARY")',
  '__import__("socket").create_connection(("127.0.0.1", 22), 1)',
  '__import__("socket").socket(__import__("socket").AF_UNIX).connect("/run/docker.sock")',
  '__import__("urllib.request").request.urlopen("http://127.0.0.1:80/", timeout=1).read()',
  '__import__("multiprocessing").Process(target=print).start()',
  '__import__("os").mkfifo("/tmp/postern-escaped-pipe")', // whoever opens that one waits for a reader
  'open("/tmp/postern-escaped", "w").write("out")',
  `__import__("os").symlink("/", "/workspace/root") or open("/workspace/root" + ${JSON.stringify(place)}).read()`,
  '__import__("os").kill(1, 9)',
  '__import__("os").kill(__import__("os").getppid(), 9)',
  '__import__("os").setuid(0)',
  '__import__("os").mount if False else __import__("ctypes").CDLL(None).mount(b"none", b"/", None, 32768, None)',
  '__import__("ctypes").CDLL(None).ptrace(16, __import__("os").getppid(), 0, 0)',
  '__import__("builtins").eval("__import__(\'os\').environ")',
  "__builtins__",
  '__import__("gc").get_objects()[:50]',
  '__import__("sys").modules["__main__"].__dict__.keys()',
  '__import__("inspect").stack()[-1].frame.f_globals.keys()',
  '__import__("pyodide.code").code.run_js("Deno.env.toObject()")',
  `__import__("pyodide.code").code.run_js("Deno.readTextFileSync(" + ${JSON.stringify(JSON.stringify(place))} + ")")`,
  '__import__("js").process.env.POSTERN_CANARY',
  '__import__("js").Object.getPrototypeOf(__import__("js").Object()).polluted',
];

function attempts(expressions: readonly string[]): string {
  const tries = expressions.map((expression) => `lambda: ${expression}`).join(",\n  ");
  return `found = []\nfor attempt in [\n  ${tries},\n]:\n    tools.echo()\n    try:\n        found.append(repr(attempt())[:2000])\n    except BaseException as error:\n        found.append(type(error).__name__)\nfound`;
}

async function allOutputOf(
  { driver }: EngineUnderTest,
  source: string,
): Promise<{ readonly end: ScriptStep; readonly output: string; readonly calls: number }> {
  const program = { language: "python", source, tools: someTools, chainId: "c", owner: "one" } as const;
  const checked = await driver.check?.(program);
  if (checked !== undefined)
    return { end: { step: "failed", why: "script", message: "" }, output: JSON.stringify(checked), calls: 0 };
  await using session = await driver.start(program, limits);
  const { end, calls, out } = await driveScript(session);
  return { end, output: JSON.stringify([end, calls, out]), calls: calls.length };
}

/** One script tries all escapes, because a full Python starts slowly. If one ends the engine, the next script tries the rest. */
async function tryAll(engine: EngineUnderTest, expressions: readonly string[]): Promise<void> {
  for (let left = expressions; left.length > 0; ) {
    const { end, output, calls } = await allOutputOf(engine, attempts(left));
    expectNoLeak(output);
    expect(calls, JSON.stringify(end)).toBeGreaterThan(0);
    left = left.slice(calls);
  }
}

function expectNoLeak(output: string): void {
  expect(output).not.toContain(canary);
  expect(output).not.toMatch(/uid=\d|root:[x*]:|PATH=.*node_modules/);
}

describe.each(engines)("on $name", (engine) => {
  it("reads no canary by any known escape", async () => {
    await tryAll(engine, greedy);
  }, 300_000);

  it("runs the escapes of JavaScript sandboxes without effect", async () => {
    const rows = corpus<Escape>("sandbox-escape/vm2_js.dev.json");
    if (engine.name === "pyodide") {
      // This engine runs on JavaScript, so each JavaScript escape is run there.
      await tryAll(
        engine,
        rows.map(({ code }) => `__import__("pyodide.code").code.run_js(${JSON.stringify(code)})`),
      );
      return;
    }
    for (const { code } of rows) expectNoLeak((await allOutputOf(engine, code)).output);
  }, 900_000);
});

it("leaves every prototype of the host and every place outside unchanged", () => {
  expect(own.map((it) => Reflect.ownKeys(it).map(String).join())).toEqual(before);
  expect(readFileSync(place, "utf8")).toBe(canary);
  for (const name of ["escaped", "escaped-pipe"]) expect(existsSync(`/tmp/postern-${name}`)).toBe(false);
});
