import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { echo, returned } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";
import { fencesHere } from "../child/fences.ts";
import { wasmProblem } from "./driver.ts";

const scripts = warmScripts();
const { run } = scripts;

it("returns the last expression's value", async () => {
  expect(returned(await run("const a = 20;\na + 1"))).toBe(21);
});

it("returns what a top-level `return` gives", async () => {
  expect(returned(await run("if (true) return { a: [1, null] };"))).toEqual({ a: [1, null] });
});

it("calls a script that is one function", async () => {
  expect(returned(await run("async () => (await tools.echo({ a: 1 })).structured"))).toEqual({ a: 1 });
});

it("print and return value: output captured, value returned (case 220)", async () => {
  const ran = await run('console.log("a", { b: 1 }, 2n, new Error("boo").message); console.error("bad"); 7');
  expect(ran.out).toBe('a {"b":1} 2 boo\nbad\n');
  expect(ran.end.printed?.map(({ stream }) => stream)).toEqual(["out", "error"]);
  expect(returned(ran)).toBe(7);
});

it("the prelude offers both names, the result's type, tools and artifacts (case 204)", async () => {
  const source =
    "[typeof tools.echo, typeof tools.files.read, typeof tools.read, typeof ToolResult, typeof artifacts.put]";
  expect(returned(await run(source))).toEqual(Array(5).fill("function"));
  expect(returned(await run("[Object.keys(tools), Object.keys(tools.files)]"))).toEqual([
    ["echo", "files", "my-server"],
    ["read", "write"],
  ]);
});

it("writes other names with underscores", async () => {
  const ran = await run("await tools.my_server.get_thing({}); await tools['my-server']['get-thing']({})");
  expect(ran.calls.map(({ tool }) => tool)).toEqual(["my-server.get-thing", "my-server.get-thing"]);
});

it("removes types and `enum`, and keeps the lines", async () => {
  const source = `interface Row {\n  readonly n: number;\n}\nenum Level { Low = 3 }\nconst row: Row = { n: Level.Low };\nawait tools.echo(row);\nthrow new Error("boo")`;
  const ran = await run(source, { language: "typescript" });
  expect(ran.calls).toMatchObject([{ arguments: { n: 3 }, line: 6 }]);
  expect(ran.end).toMatchObject({ why: "script", message: "Error: boo", line: 7 });
});

it("runs TypeScript that was declared as JavaScript", async () => {
  expect(returned(await run("const a: number = 1;\nreturn a as number"))).toBe(1);
});

it("reports the line of a syntax error", async () => {
  expect((await run("const a = 1;\nconst b = ;")).end).toMatchObject({ step: "failed", why: "script", line: 2 });
});

it("finds a deadlock", async () => {
  expect((await run("await new Promise(() => {})")).end).toMatchObject({ step: "failed", why: "deadlock" });
});

it("runs sleep, timers and the wall limit", async () => {
  const source = `let n = 0;
await new Promise((resolve) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); resolve() } }, 1) });
setTimeout((text) => console.log(text), 1, "late");
await sleep(5); n`;
  const ran = await run(source);
  expect([returned(ran), ran.out]).toEqual([3, "late\n"]);
  expect((await run("await sleep(1e9)", { limits: { wallMs: 200 } })).end).toMatchObject({ why: "wall" });
});

it("runs pending timers after the answer without waiting", async () => {
  const source = `const from = Date.now();
setTimeout(async () => { await tools.echo({ n: 1 }); setTimeout(() => console.log(Date.now() - from >= 90_000), 30_000) }, 60_000);
setInterval(() => console.log("again"), 25_000);
"answer"`;
  const begun = performance.now();
  const ran = await run(source, { limits: { wallMs: 120_000 } });
  expect([returned(ran), ran.calls.length, ran.out]).toEqual(["answer", 1, `${"again\n".repeat(3)}true\n`]);
  expect(performance.now() - begun).toBeLessThan(60_000); // when the first of them would be due
});

it("answers although a timer is late or never ends", async () => {
  const endless = "(function again() { setTimeout(again, 1_000) })(); setTimeout(() => console.log('late'), 1e9); 5";
  const ran = await run(endless);
  expect([returned(ran), ran.out]).toEqual([5, ""]);
});

it("makes calls that are not awaited", async () => {
  const ran = await run("tools.echo({ n: 1 }); 5");
  expect(ran.calls).toHaveLength(1);
  expect(returned(ran)).toBe(5);
});

it("hides variables of one run from the next (case 228)", async () => {
  await run("globalThis.left = 1; Object.prototype.left = 2");
  expect(returned(await run("[typeof left, {}.left === undefined]"))).toEqual(["undefined", true]);
});

it("gives a script the same random numbers again", async () => {
  const [one, two] = await Promise.all([run("[Math.random(), Math.random()]"), run("[Math.random(), Math.random()]")]);
  expect(returned(one)).toEqual(returned(two));
});

it("makes JSON of maps, sets, dates and handles that are returned", async () => {
  const source =
    "({ m: new Map([['a', 1]]), s: new Set([1]), d: new Date(0), n: 10n ** 30n, h: await tools.echo({ q: 1 }) })";
  expect(returned(await run(source, { answer: echo }))).toMatchObject({
    m: { a: 1 },
    s: [1],
    d: "1970-01-01T00:00:00.000Z",
    n: `1${"0".repeat(30)}`,
    h: { structured: { q: 1 }, status: "ok" },
  });
});

it("refuses a script that is too long before it runs", async () => {
  const program = { language: "javascript", source: "x".repeat(2 << 20), tools: [], chainId: "c" } as const;
  expect(await scripts.driver.check?.(program)).toEqual({ invalid: "The script has 2097152 bytes; 1048576 may be." });
});

it.runIf(fencesHere().includes("limits"))(
  "a script's process runs as user nobody, and can open, start and write nothing",
  async () => {
    await using session = await scripts.begin("await tools.echo({})");
    await session.next();
    const pid = "pid" in session ? String(session.pid) : "none";
    const bounds = await readFile(`/proc/${pid}/limits`, "latin1");
    for (const name of ["open files", "processes", "file size", "core file size"]) {
      expect(bounds).toMatch(new RegExp(`^Max ${name}\\s+0\\s+0`, "m"));
    }
    expect(await readFile(`/proc/${pid}/status`, "latin1")).toMatch(
      process.getuid?.() === 0 ? /^Uid:\t65534\t65534/m : /^Uid:/m,
    );
  },
);

it("makes no further call after it is killed at any batch", async () => {
  for (const at of [0, 1, 2]) {
    await using session = await scripts.begin("for (let i = 0; i < 3; i++) await tools.echo({ i })");
    for (let place = 0; place < at; place++) {
      expect(await session.next()).toMatchObject({ step: "calls", calls: [{ place }] });
      await session.settle([{ place, status: "ok", value: null }]);
    }
    if ("pid" in session) process.kill(Number(session.pid), "SIGKILL");
    expect(await session.next()).toMatchObject({ step: "failed", why: "crash" });
  }
});

it.each<[string, "javascript" | "typescript", string, number]>([
  ["const a = 1;\nconst x = {;\n", "typescript", "at column 12 in `const x = {;`", 2],
  ["const a: number = 1;\nconst b: = 2;", "javascript", "at column 10 in `const b: = 2;`", 2],
  ["const a = ;", "javascript", "at column 11 in `const a = ;`", 1],
  ["return 1;\nlet = = 3", "javascript", "in `let = = 3`", 2],
  ['const a = 1;\nimport fs from "node:fs";\nfs', "javascript", "A script imports nothing", 2],
  ["export const a = 5", "typescript", "A script exports nothing but one `export default`", 1],
  ["export default 5\nexport default 6", "javascript", "A script exports nothing but one `export default`", 1],
  ["const a = 1;\nexport default {;", "javascript", "in `export default {;`", 2],
])("says where %j does not parse, how the line reads, and calls nothing", async (source, language, words, line) => {
  const { end, calls } = await run(source, { language });
  expect(end).toMatchObject({ step: "failed", why: "script", message: expect.stringContaining(words), line });
  expect(end).toMatchObject({ message: expect.stringMatching(/^SyntaxError: /) });
  expect(calls).toEqual([]);
});

it.each<[string, unknown]>([
  ["async function main() { return (await tools.echo({ n: 1 })).structured.n; }\nexport default await main()", 1],
  ["export default async function main() { return await two(); }\nexport async function two() { return 2; }", 2],
  ["interface Found { readonly n: number }\nexport default async (): Promise<Found> => ({ n: 3 });", { n: 3 }],
  ["export default async function () {\n  return 4;\n}\nexport type ChannelFixture = string;", 4],
  ["const text = `\nexport default 1`;\ntext.length", 17],
  ["export default function () {}\n", undefined],
])("the default export of a script that is written as a module is its answer: %j", async (source, value) => {
  for (const language of ["javascript", "typescript"] as const) {
    const ran = await run(source, { language });
    expect(returned(ran)).toEqual(value);
  }
});

it("reports lines and columns of a module as written", async () => {
  const source = "export const a = 1;\nexport default async function main() {\n  await tools.nope({});\n}";
  expect((await run(source)).end).toMatchObject({ why: "script", line: 3 });
  const computed = "const a = 1;\nexport default a.b.c;";
  expect((await run(computed)).end).toMatchObject({ why: "script", line: 2 });
});

it("suggests a similar tool and lists at most forty", async () => {
  const said = "try { await tools.ecko({}) } catch (error) { return error.message }";
  expect(returned(await run(said))).toMatch(/^There is no tools\.ecko\. Did you mean echo\? There are: /);
  const far = "try { await tools.files.zzzzzz({}) } catch (error) { return error.message }";
  expect(returned(await run(far))).toBe("There is no tools.files.zzzzzz. There are: read, write.");
});

it("cannot run with a damaged engine file", async () => {
  const path = join(ownFolder(), "quickjs.wasm");
  await writeFile(path, Buffer.from("0061736d01000000ff", "hex"));
  expect(await wasmProblem(path)).toMatch(/is damaged; install `quickjs-wasi` again/);
  expect(await wasmProblem(join(ownFolder(), "none"))).toMatch(/is damaged/);
  expect(await scripts.driver.unavailable()).toBeUndefined();
});
