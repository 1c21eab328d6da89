/** Hostile scripts through the public API, on each engine: contained, reported correctly, without effect on other calls. */
import { afterAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../../packages/core/src/clock.ts";
import type { SandboxDriver } from "../../../packages/core/src/sandbox/sandbox.ts";
import { SandboxProcess } from "../../../packages/engines/src/child/child-process.ts";
import { ChildSession } from "../../../packages/engines/src/child/session.ts";
import {
  type EngineFixture,
  engineFixture,
  enginesHere,
  fixtureWithEngine,
  wholeResultOf,
} from "../../fakes/engine-fixture.ts";
import { lyingChild } from "../../fakes/lying-child.ts";
import { roomyLimits, sketch } from "../../fakes/scripts.ts";

const engines = await enginesHere();
const cpuMs = 1_000;
/** Pyodide must also start within this time, beside other suites. */
const totalSecondsOf = (name: string): number => (name === "pyodide" ? 50 : 20);
/** The script's own limit, one second, and the time that a busy machine needs to start a process. */
const mostMsOf = (name: string): number => totalSecondsOf(name) * 1_000 + 1_000;
const own = [Object.prototype, Function.prototype, Array.prototype, Map.prototype, Promise.prototype, Error.prototype];
const before = own.map((it) => Reflect.ownKeys(it).map(String).join());

afterAll(async () => {
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

/** A script ends as an error by default; with `fine` it may also succeed without harm. */
interface Attack {
  readonly name: string;
  readonly javascript: string;
  readonly python: string;
  readonly fine?: boolean;
  readonly kinds?: RegExp;
}

const attacks: readonly Attack[] = [
  {
    name: "an endless loop",
    javascript: 'await tools.note({ text: "1" }); while (true) {}',
    python: "tools.note(text='1')\nwhile True:\n    pass",
    kinds: /cpu|wall/,
  },
  {
    name: "a loop of microtasks",
    javascript: "(async () => { for (;;) await null })(); await new Promise(() => {})",
    python: "import asyncio\nasync def spin():\n    while True:\n        await asyncio.sleep(0)\nasyncio.run(spin())",
    kinds: /cpu|wall|unsupported/,
  },
  {
    name: "memory",
    javascript: 'await tools.note({ text: "1" }); const a = []; for (;;) a.push("x".repeat(1e5) + a.length)',
    python: "tools.note(text='1')\na = []\nwhile True:\n    a.append('x' * 100000 + str(len(a)))",
    kinds: /memory|cpu|script/,
  },
  {
    name: "recursion",
    javascript: "const f = () => f() + 1; f()",
    python: "def f(n):\n    return f(n + 1) + 1\nf(0)",
    kinds: /script|memory|crash/,
  },
  {
    name: "recursion that catches its own end",
    javascript: "const f = () => { try { f() } catch { f() } finally { f() } }; f()",
    python: "def f():\n    try:\n        f()\n    except Exception:\n        f()\nf()",
    kinds: /script|memory|crash|cpu|wall|unsupported/,
  },
  {
    name: "a flood of output",
    javascript: 'for (;;) console.log("x".repeat(1000))',
    python: "while True:\n    print('x' * 1000)",
    kinds: /output|cpu/,
  },
  {
    name: "a flood of promises",
    javascript: "const a = []; for (;;) a.push(new Promise(() => {}))",
    python:
      "import asyncio\nasync def one():\n    await asyncio.sleep(1000)\nasync def main():\n    a = []\n    while True:\n        a.append(asyncio.ensure_future(one()))\nasyncio.run(main())",
    kinds: /memory|cpu|unsupported/,
  },
  {
    name: "a flood of calls at once",
    javascript: "await Promise.all(Array.from({ length: 5000 }, (_, n) => tools.note({ text: String(n) })))",
    python:
      "import asyncio\nasync def main():\n    await asyncio.gather(*[tools.note(text=str(n)) for n in range(5000)])\nasyncio.run(main())",
    kinds: /budget|protocol|script|unsupported/,
  },
  {
    name: "integers that grow without end",
    javascript: "let n = 3n; for (;;) n *= n",
    python: "n = 3\nwhile True:\n    n = n * n",
    kinds: /cpu|memory|script|wall/,
  },
  {
    name: "one huge integer",
    javascript: "String((2n ** 60n) ** (2n ** 40n))",
    python: "len(str(10 ** (10 ** 9)))",
    kinds: /cpu|memory|script|wall/,
  },
  {
    name: "an argument nested 20,000 deep",
    javascript: "let o = {}; for (let i = 0; i < 20000; i++) o = { o }; await tools.note({ text: o })",
    python: "o = {}\nfor i in range(20000):\n    o = {'o': o}\ntools.note(text=o)",
    kinds: /script|crash|memory|unsupported/,
  },
  {
    name: "a result nested 20,000 deep",
    javascript: "let o = []; for (let i = 0; i < 20000; i++) o = [o]; return o",
    python: "o = []\nfor i in range(20000):\n    o = [o]\no",
    kinds: /script|crash|cpu|memory|unsupported|protocol/,
  },
  {
    name: "JSON made of a list 20,000 deep",
    javascript: "let o = []; for (let i = 0; i < 20000; i++) o = [o]; return JSON.stringify(o).length",
    python: "import json\no = []\nfor i in range(20000):\n    o = [o]\nlen(json.dumps(o))",
    fine: true,
  },
  {
    name: "an attribute bomb",
    javascript: `const a = {}; a.a = a; return a${".a".repeat(15_000)} === a`,
    python: `a = 1\na${".a".repeat(15_000)}`,
    fine: true,
  },
  {
    name: "a sum of 15,000 terms",
    javascript: `return ${"1+".repeat(15_000)}1`,
    python: `${"1+".repeat(15_000)}1`,
    fine: true,
  },
  {
    name: "brackets without end",
    javascript: `return ${"[".repeat(15_000)}`,
    python: `${"[".repeat(15_000)}`,
    kinds: /script|crash|unsupported|memory/,
  },
  {
    name: "a script that swallows every exception to go on after its budget",
    javascript: 'for (;;) try { await tools.note({ text: "x" }); } catch {}',
    python: "while True:\n    try:\n        tools.note(text='x')\n    except Exception:\n        pass",
    kinds: /budget/,
  },
  {
    name: "calls after the end",
    javascript: 'setTimeout(() => tools.note({ text: "late" }), 0); tools.note({ text: "unheard" }); return 1',
    python:
      "import threading\nthreading.Thread(target=lambda: [tools.note(text=str(n)) for n in range(100)], daemon=True).start()\n1",
    fine: true,
  },
  {
    name: "prototype tricks in arguments and results",
    javascript: `const given = JSON.parse('{"text":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
      await tools.note(given);
      return JSON.parse('{"__proto__":{"polluted":1},"status":"ok","constructor":{"prototype":{"polluted":2}},"then":5}');`,
    python:
      "given = {'text': 'x', '__proto__': {'polluted': 1}, 'constructor': {'prototype': {'polluted': 1}}}\ntools.note(given)\n{'__proto__': {'polluted': 1}, 'constructor': {'prototype': {'polluted': 2}}, 'then': 5, 'toJSON': 1}",
    fine: true,
  },
  {
    name: "a search that runs away",
    javascript: "/(a*)*b/.test('a'.repeat(50))",
    python: "import re\nre.search(r'(a*)*b', 'a' * 50)",
    kinds: /cpu|wall|script/,
    fine: true,
  },
];

describe.each(engines)("on $name", (engine) => {
  const open = (): Promise<EngineFixture> =>
    engineFixture(engine, { chains: { cpuMs, memoryBytes: 48 << 20, outputBytes: 64 << 10 } });

  it.skipIf(engine.missing !== undefined).each(attacks.map((attack) => [attack.name, attack] as const))(
    "contains %s",
    async (_, attack) => {
      await using at = await open();
      const { language } = engine;
      const begun = performance.now();
      const outcome = await at.runtime.runChain({
        code: attack[language],
        language,
        timeout: totalSecondsOf(engine.name),
      });
      expect(performance.now() - begun).toBeLessThan(mostMsOf(engine.name));
      const result = await wholeResultOf(at, outcome);
      if (attack.fine !== true) expect(result.status).not.toBe("ok");
      if (result.status !== "ok" && attack.kinds !== undefined) expect(result.error_kind).toMatch(attack.kinds);
      expect(outcome.text.length).toBeLessThan(80_000);
      await expectTrueRecord(at);
    },
    60_000,
  );

  it.skipIf(engine.missing !== undefined || engine.driver.capabilities.durability === "replay")(
    "resumes no image that was changed or belongs to another engine",
    async () => {
      const { driver, language } = engine;
      const tools = [sketch("echo")];
      const source = language === "python" ? "a = tools.echo()\n'went on'" : "await tools.echo({}); 'went on'";
      await using session = await driver.start({ language, source, tools, chainId: "chain_1" }, roomyLimits);
      await session.next();
      const image = await session.freeze();
      const spots = [0, 1, 8, 40, 0.3, 0.5, 0.7, 0.9].map((at) => Math.floor(at < 1 ? at * image.length : at));
      const images: Uint8Array[] = spots.map((at) => image.map((byte, i) => (i === at ? byte ^ 0xff : byte)));
      images.push(image.subarray(0, image.length >> 1), new Uint8Array(), Buffer.from("{}"));
      for (const other of engines)
        if (other.name !== engine.name && other.missing === undefined)
          await expect(other.driver.restore(image, roomyLimits)).rejects.toThrow();
      for (const changed of images) {
        const end = await resumesChangedImage(driver, changed);
        expect(["refused", "failed", "done"]).toContain(end);
      }
      expect(await resumesChangedImage(driver, image)).toBe("done");
    },
    120_000,
  );
});

/** A changed image whose seal is not checked is refused, fails inside, or has a harmless change. */
async function resumesChangedImage(driver: SandboxDriver, image: Uint8Array): Promise<string> {
  try {
    await using session = await driver.restore(image, { ...roomyLimits, wallMs: 10_000, cpuMs: 2_000 });
    await session.settle([{ place: 0, status: "ok", value: { text: "" } }]);
    return (await session.next()).step;
  } catch {
    return "refused";
  }
}

describe("a sandbox that forges its frames", () => {
  const call = '{ place: 0, tool: "note", arguments: { text: "forged" } }';
  it.each([
    ["bears another chain's token", `say({ step: "calls", calls: [${call}], token: "A".repeat(43) })`, "protocol"],
    ["bears no token", `raw(framed(JSON.stringify({ step: "calls", calls: [${call}] })))`, "protocol"],
    ["has an invalid body", 'say({ step: "calls", calls: [{ place: 0, tool: 5, arguments: "x" }] })', "protocol"],
    [
      "says a call is approved",
      `say({ step: "calls", calls: [{ ...${call}, tool: "mail", approved: true }] })`,
      "script",
    ],
    ["speaks after its end", `say({ step: "done", value: 1 }); say({ step: "calls", calls: [${call}] })`, "unheard"],
    ["floods", "for (;;) say({ step: 'done', value: 'x'.repeat(50000) })", "unheard"],
    ["dies in the middle of a frame", "raw(Buffer.from([0, 0, 1, 0, 123])); process.exit(0)", "crash"],
    ["says nothing", "for (;;) ;", "cpu"],
  ])("%s: it is ended, and nothing was called (cases 205, 221)", async (_, forged, kind) => {
    await using at = await fixtureWithEngine(() => [forgingDriver(forged)], {
      approvals: { patience: "deny" },
      chains: { cpuMs: 500, limits: { totalTimeoutMs: 20_000 } },
    });
    const outcome = await at.runtime.runChain({ code: "1", language: "javascript" });
    const result = await wholeResultOf(at, outcome);
    if (kind === "script") expect(result.call_trace).toMatchObject([{ tool: "mail", status: "denied" }]);
    else if (kind === "unheard")
      expect([undefined, "protocol"]).toContain(result.error_kind); // its end may come alone
    else expect(result.error_kind).toBe(kind);
    if (kind !== "script") expect(result.call_trace).toEqual([]);
    expect(at.ran).toEqual([]);
    await expectTrueRecord(at);
  });
});

function forgingDriver(onNext: string): SandboxDriver {
  return {
    name: "liar",
    engine: "liar 1",
    capabilities: { language: "javascript", durability: "replay", isolation: "process", parallel: true },
    unavailable: async () => undefined,
    start: async (_, limits) =>
      new ChildSession(
        await SandboxProcess.start(lyingChild(`if (turn > 1) { say({ step: "done", value: 1 }) } else { ${onNext} }`)),
        { limits, overheadBytes: 192 << 20, clock: new SystemClock() },
      ),
    restore: () => Promise.reject(new Error("no")),
  };
}

/** The host is alive, its prototypes are unchanged, and the script's record has what the tools saw. */
async function expectTrueRecord({ runtime, ran }: EngineFixture): Promise<void> {
  const [script, ...others] = await runtime.calls.list({ tool: "tool_chain" });
  expect(others).toEqual([]);
  expect(["ok", "failed"]).toContain(script?.state);
  const notes = await runtime.calls.list({ tool: "note", limit: 1_000 });
  expect(notes.filter(({ state }) => state === "ok").length).toBe(ran.length);
  expect(notes.every(({ call }) => call.parentId === script?.call.id)).toBe(true);
  expect(await runtime.chains?.list()).toEqual([]);
  expect((await runtime.invoke({ tool: "echo", arguments: { text: "alive" } })).text).toBe("alive");
  expect(own.map((it) => Reflect.ownKeys(it).map(String).join())).toEqual(before);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
}
