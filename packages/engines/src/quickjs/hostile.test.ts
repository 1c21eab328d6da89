import { expect, it } from "vitest";
import { driveScript, returned, roomyLimits, someTools } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";

const scripts = warmScripts();
const { run } = scripts;
const quick = { limits: { cpuMs: 200 } } as const;

it.each([
  ["an endless loop (case 230)", "while (true) {}"],
  ["a microtask loop", "(async () => { for (;;) await null })(); await new Promise(() => {})"],
  ["a chain of resolved promises", "const go = () => Promise.resolve().then(go); go(); await new Promise(() => {})"],
  ["a loop that swallows every exception", "for (;;) try { while (true) {} } catch {}"],
  ["a loop in a getter of what is passed on", "await tools.echo({ get a() { for (;;) {} } })"],
  ["a loop in a toJSON of what is returned", "({ toJSON() { for (;;) {} } })"],
  ["a loop in a thrown thing's message", "throw { get message() { for (;;) {} }, toString() { for (;;) {} } }"],
  ["a timer that never ends", "setInterval(() => { for (let i = 0; i < 1e9; i++); }, 0); await sleep(1e9)"],
  ["a regular expression that runs away", "/(a*)*b/.test('a'.repeat(50))"],
])("stops %s", async (_, source) => {
  expect((await run(source, quick)).end).toMatchObject({ step: "failed", why: "cpu" });
});

it("kills an engine that does not check its own budget", async () => {
  const native = "const a = new Uint8Array(30_000_000).fill(1); for (;;) a.indexOf(2, -30_000_000), a.lastIndexOf(3)";
  expect((await run(native, quick)).end).toMatchObject({ step: "failed", why: "cpu" });
});

it.each([
  ["an array that grows", "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)"],
  ["a string that doubles", "let s = 'x'; for (;;) s += s + s.length"],
  ["a typed array", "const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1))"],
  ["a flood of promises", "const a = []; for (;;) a.push(new Promise(() => {}))"],
])("stops what outgrows its memory: %s", async (_, source) => {
  const { end } = await run(source, { limits: { memoryBytes: 16 << 20 } });
  expect(end).toMatchObject({ step: "failed" });
  expect(["memory", "script"]).toContain(end.step === "failed" && end.why); // a string has its own longest length
});

it("continues a script that catches its memory limit", async () => {
  const ran = await run("try { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) } catch { 'caught' }");
  expect(returned(ran)).toBe("caught");
});

it("throws a catchable error for too deep recursion", async () => {
  expect(returned(await run("const f = () => f() + 1; try { f() } catch (error) { error.name }"))).toBe("RangeError");
  expect((await run("const f = () => f() + 1; f()")).end).toMatchObject({ why: "script", line: 1 });
});

it.each([
  ["an argument", "let o = {}; for (let i = 0; i < 20000; i++) o = { o }; await tools.echo(o)"],
  ["a result", "let o = []; for (let i = 0; i < 20000; i++) o = [o]; o"],
  ["an argument just too deep", "let o = {}; for (let i = 0; i < 201; i++) o = { o }; await tools.echo(o)"],
  ["parsed", "JSON.parse('['.repeat(20000) + ']'.repeat(20000))"],
])("ends a script with JSON 20,000 deep: %s", async (_, source) => {
  const ran = await run(source);
  expect(ran.end).toMatchObject({ step: "failed", why: "script" });
  expect(ran.calls).toEqual([]);
});

it("refuses a huge integer as JSON and computes it within the budget", async () => {
  expect((await run("await tools.echo({ n: 2n ** 70n })")).end).toMatchObject({
    why: "script",
    message: expect.stringContaining("BigInt"),
  });
  const { end } = await run("let n = 3n; for (;;) n *= n", quick);
  expect(end.step).toBe("failed");
});

const flooded = { step: "failed", why: "output", message: "The script printed more than 1000 bytes." };

it.each([
  ["as it is", "for (;;) console.log('x'.repeat(99))"],
  ["in a timer", "setInterval(() => console.log('x'.repeat(99)), 1); await sleep(1e6)"],
  ["caught, and computed on", "try { for (;;) console.log('x'.repeat(99)) } catch {} await tools.echo({})"],
  ["caught for ever", "for (;;) try { console.log('x'.repeat(99)) } catch {}"],
  ["caught, and idled on", "try { for (;;) console.log('x'.repeat(99)) } catch {} for (;;);"],
  ["caught, and waited on", "try { for (;;) console.log('x'.repeat(99)) } catch {} for (;;) await null"],
  ["in what is passed on", "await tools.echo({ get a() { for (;;) try { print('x'.repeat(99)) } catch {} } })"],
  ["behind bent promises", "Promise = 5; for (;;) try { print('x'.repeat(99)) } catch {}"],
  ["of what is more bytes than letters", "for (;;) print('é'.repeat(47), '😀')"],
])("a script that prints more than it may ends as that at once, with what it had printed: %s", async (_, source) => {
  const ran = await run(source, { limits: { outputBytes: 1_000, cpuMs: 600_000, wallMs: 600_000 } });
  expect(ran.end).toMatchObject(flooded);
  expect([Buffer.byteLength(ran.out), ran.batches]).toEqual([1_000, []]);
});

it("counts bytes that were printed before the freeze", async () => {
  const limits = { ...roomyLimits, outputBytes: 1_000 };
  const source =
    "print('é'.repeat(300)); await tools.echo({}); print('é'.repeat(198)); await tools.echo({}); print('é')";
  const program = { language: "javascript", source, tools: someTools, chainId: "chain-1", owner: "one" } as const;
  await using session = await scripts.driver.start(program, limits);
  await session.next();
  await using thawed = await scripts.driver.restore(await session.freeze(), limits);
  await thawed.settle([{ place: 0, status: "ok", value: null }]);
  const ran = await driveScript(thawed);
  expect([ran.end, ran.calls.length]).toMatchObject([flooded, 1]);
  expect(ran.out).toBe(`${"é".repeat(198)}\né`); // 601 bytes were printed before
});

it.each([
  ["in one place", "print(i)", 100_000],
  ["in two in turn", "i % 2 ? print(i) : console.error(i)", 20_000],
])("a script may print as many lines as fit, in one turn: %s", async (_, line, count) => {
  const ran = await run(`for (let i = 0; i < ${count}; i++) ${line}; 5`, { limits: { outputBytes: 1 << 20 } });
  expect([returned(ran), ran.out]).toEqual([5, Array.from({ length: count }, (_line, i) => `${i}\n`).join("")]);
});

it("continues a script that prints exactly its limit", async () => {
  const ran = await run("for (let i = 0; i < 10; i++) console.log('x'.repeat(99)); 5", {
    limits: { outputBytes: 1_000 },
  });
  expect([ran.out.length, returned(ran)]).toEqual([1_000, 5]);
});

it("ends a script whose result is too large, with its size", async () => {
  const { end } = await run("'x'.repeat(2000)", { limits: { outputBytes: 1_000 } });
  expect(end).toMatchObject({ why: "output", message: expect.stringContaining("2002 bytes and 1000 may be") });
});

it("shows cyclic, throwing and strange values without a crash", async () => {
  expect((await run("const a = {}; a.a = a; a")).end).toMatchObject({
    why: "script",
    message: expect.stringContaining("not JSON"),
  });
  const ran = await run(
    "const a = {}; a.a = a; console.log(a, Symbol('s'), () => {}, undefined, null, { toJSON() { throw 5 } }, Promise.resolve(), tools, tools.echo); 1",
  );
  expect(returned(ran)).toBe(1);
});

it.each([
  "null",
  "undefined",
  "5",
  "'text'",
  "Symbol('s')",
  "Object.create(null)",
  "{ get message() { throw 1 } }",
  "new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })",
])("says that %s was thrown", async (thrown) => {
  expect((await run(`throw ${thrown.startsWith("{") ? `(${thrown})` : thrown}`)).end).toMatchObject({ step: "failed" });
});

it("has nothing of Node, of the host or of its process", async () => {
  const names = [
    "process",
    "require",
    "module",
    "fetch",
    "WebAssembly",
    "Worker",
    "Deno",
    "Bun",
    "std",
    "os",
    "XMLHttpRequest",
    "SharedArrayBuffer",
  ];
  const ran = await run(
    `${JSON.stringify(names)}.filter((name) => typeof globalThis[name] !== "undefined" && name !== "SharedArrayBuffer")`,
  );
  expect(returned(ran)).toEqual([]);
  expect((await run("import fs from 'node:fs'; fs")).end).toMatchObject({ why: "script" });
  expect((await run("(await import('node:fs')).readFileSync('/etc/passwd')")).end).toMatchObject({ why: "script" });
  expect((await run("(() => {}).constructor('return process')()")).end).toMatchObject({
    why: "script",
    message: expect.stringContaining("not defined"),
  });
});

it("keeps prototypes safe from arguments and results", async () => {
  const source = `const given = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
const got = await tools.echo(given);
const again = await tools.echo({ ["__proto__"]: { polluted: 2 }, got });
[{}.polluted === undefined, Object.getPrototypeOf(got) === ToolResult.prototype, Object.keys(got.structured)]`;
  const evil = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"then":1}');
  const ran = await run(source, { answer: () => ({ status: "ok", value: { text: "t", structured: evil } }) });
  expect(returned(ran)).toEqual([true, true, ["__proto__", "constructor", "then"]]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  expect(Object.keys(ran.calls[0]?.arguments ?? {})).toEqual(["__proto__", "constructor"]);
});

it("limits the harm of broken globals to the script", async () => {
  const source = `JSON.stringify = () => '"forged"'; JSON.parse = () => 5; Array.prototype.push = () => 0; Map.prototype.get = () => 1;
Promise.prototype.then = function () { return this }; Object.prototype.toJSON = () => 7; Error.prepareStackTrace = () => { throw 1 };
globalThis.tools = null; tools`;
  const { end, calls } = await run(source);
  expect(calls).toEqual([]);
  expect(end.step === "done" || end.why === "script" || end.why === "deadlock").toBe(true);
});

it("passes a flood of calls on in order, for the host to refuse", async () => {
  const ran = await run(
    "const all = []; for (let i = 0; i < 5000; i++) all.push(tools.echo({ i }).catch(() => 0)); await Promise.all(all); 1",
  );
  expect(ran.batches).toHaveLength(1);
  expect(ran.calls.map(({ place }) => place)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});

it("takes results with many names", async () => {
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`name${i}`, i]));
  const ran = await run("Object.keys((await tools.echo({})).structured).length", {
    answer: () => ({ status: "ok", value: { structured: wide } }),
  });
  expect(returned(ran)).toBe(20_000);
});

it("repeats the last step after the end", async () => {
  await using session = await scripts.begin("1");
  const end = await session.next();
  expect(await session.next()).toBe(end);
  await expect(session.freeze()).rejects.toThrow("Only a script that waits");
  expect(() => void session.settle([{ place: 0, status: "ok", value: null }])).toThrow("Place `0` is not waited for");
});
