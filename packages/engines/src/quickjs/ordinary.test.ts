/** Scripts as models write them: each answers what Node answers. */
import { stripTypeScriptTypes } from "node:module";
import { expect, it } from "vitest";
import { driveScript, returned, roomyLimits } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";

const world = warmScripts();
const { run } = world;

const scripts: Readonly<Record<string, string>> = {
  "a class with private fields, static members and accessors": `
    class Account { static #made = 0; #cents = 0; readonly owner: string;
      constructor(owner: string) { this.owner = owner; Account.#made++; }
      deposit(amount: number): this { if (amount <= 0) throw new RangeError("too little"); this.#cents += Math.round(amount * 100); return this; }
      get balance(): number { return this.#cents / 100; } static get made() { return Account.#made; } }
    class Savings extends Account { constructor(owner: string, private rate = 0.1) { super(owner); } yearly() { return this.balance * this.rate; } }
    const one = new Savings("ann").deposit(10.5).deposit(2);
    let caught = ""; try { one.deposit(-1); } catch (error) { if (error instanceof RangeError) caught = error.message; }
    return { balance: one.balance, yearly: (one as Savings).yearly().toFixed(2), made: Account.made, caught };`,
  "maps, sets and grouping": `
    const rows = [{ team: "a", n: 3 }, { team: "b", n: 5 }, { team: "a", n: 4 }];
    const sums = new Map<string, number>();
    for (const { team, n } of rows) sums.set(team, (sums.get(team) ?? 0) + n);
    const grouped = Object.groupBy(rows, ({ team }) => team);
    return { sums: Object.fromEntries(sums), most: [...sums].sort(([, x], [, y]) => y - x)[0], unique: [...new Set(rows.map((r) => r.team))], grouped, has: new Set([1, 2]).isSubsetOf(new Set([1, 2, 3])) };`,
  "a table by template literals and padding": `
    const rows = [["apples", 3, 1.5], ["pears", 12, 0.25]] as const;
    return rows.map(([name, count, price]) => \`\${name.padEnd(10)}|\${String(count).padStart(4)}|\${(count * price).toFixed(2).padStart(8)}\`).join("\\n");`,
  "dates by arithmetic": `
    const start = new Date("2026-02-26T10:00:00Z"); const days: string[] = [];
    for (let n = 0; n < 4; n++) { const day = new Date(start); day.setUTCDate(day.getUTCDate() + n); days.push(day.toISOString().slice(0, 10)); }
    const between = Math.round((Date.UTC(2026, 11, 25) - Date.UTC(2026, 10, 21)) / 86_400_000);
    return { days, between, parsed: new Date("2024-02-29").getTime(), weekday: start.getUTCDay() };`,
  "named groups, sticky and Unicode patterns": `
    const log = "2026-03-01 ERROR disk full\\n2026-03-02 WARN slow\\n";
    const found = [...log.matchAll(/^(?<day>\\d{4}-\\d\\d-\\d\\d) (?<level>[A-Z]+) (?<text>.+)$/gm)].map(({ groups }) => ({ ...groups }));
    return { found, swapped: "Doe, Jane".replace(/(?<last>\\w+), (?<first>\\w+)/, "$<first> $<last>"), words: "naïve café".match(/\\p{L}+/gu), ahead: "price: 30€".match(/(?<=: )\\d+(?=€)/)?.[0], split: "a1b22c".split(/\\d+/) };`,
  "async iteration and generators": `
    async function* pages(last: number) { for (let n = 1; n <= last; n++) { await Promise.resolve(); yield { page: n, items: Array.from({ length: n }, (_, i) => n * 10 + i) }; } }
    function* naturals() { let n = 0; while (true) yield n++; }
    const all: number[] = []; for await (const { items } of pages(3)) all.push(...items);
    const few: number[] = []; for (const n of naturals()) { if (n > 4) break; few.push(n); }
    return { all, few, taken: Iterator.from(naturals()).filter((n) => n % 2 === 1).take(3).toArray() };`,
  "Promise.allSettled over tools": `
    const results = await Promise.allSettled([1, 2, 3].map(async (n) => { if (n === 2) throw new Error("two"); return (await tools.echo({ n })).structured.n; }));
    return results.map((one) => one.status === "fulfilled" ? one.value : one.reason.message);`,
  "labelled loops, switch and a comma": `
    const out: string[] = []; outer: for (let i = 0; i < 4; i++) { for (let j = 0; j < 4; j++) { if (j === i) continue outer; if (i === 3) break outer; out.push(i + ":" + j); } }
    const kind = (n: number) => { switch (true) { case n < 0: return "negative"; case n === 0: return "zero"; default: return "positive"; } };
    return [out, [-1, 0, 1].map(kind)];`,
  "enums, generics and satisfies": `
    enum Level { Low = 1, Mid, High = "high" } const enum Side { Left, Right }
    type Shape = { kind: "circle"; r: number } | { kind: "square"; side: number };
    const area = (shape: Shape): number => { switch (shape.kind) { case "circle": return Math.PI * shape.r ** 2; case "square": return shape.side ** 2; } };
    function first<T, K extends keyof T>(items: readonly T[], key: K): T[K] | undefined { return items[0]?.[key]; }
    const config = { port: 80, host: "x" } satisfies Record<string, string | number>;
    return [Level.Mid, Level[1], Level.High, Side.Right, area({ kind: "square", side: 3 }), first([{ a: 1 }], "a"), config.port as number, (null as unknown as string) ?? "none"];`,
  "interfaces, abstract classes and overloads": `
    interface Greeter { greet(name?: string): string } abstract class Base implements Greeter { constructor(protected readonly word: string) {} abstract end(): string; greet(name = "you") { return \`\${this.word} \${name}\${this.end()}\`; } }
    class Loud extends Base { override end(): string { return "!"; } } function pick(a: string): string; function pick(a: number): number; function pick(a: unknown): unknown { return a; }
    namespace Util { export const twice = (n: number) => n * 2; } declare const nothing: string;
    return [new Loud("Hi").greet(), pick(3), Util.twice(4), <number>5];`,
  "JSON both ways": `
    const data = { when: new Date(0), none: undefined, list: [undefined, () => 1, NaN], nested: { toJSON() { return "own"; } } };
    const revived = JSON.parse('{"when":"1970-01-01T00:00:00.000Z","n":1}', (key, value) => key === "when" ? new Date(value).getTime() : value);
    let bad = ""; try { JSON.parse("{oops"); } catch (error) { bad = error.name; }
    return [JSON.stringify(data), JSON.stringify({ b: 1, a: [1, { c: 2 }] }, null, 2), JSON.stringify({ a: 1, b: 2 }, ["b"]), revived, bad];`,
  "sorting by several keys": `
    const people = [{ n: "b", age: 30 }, { n: "a", age: 30 }, { n: "c", age: 25 }];
    return [people.toSorted((x, y) => y.age - x.age || x.n.localeCompare(y.n)).map((p) => p.n), [10, 9, 1].sort(), [3, 1, 2].toSorted((a, b) => b - a), people.findLast((p) => p.age === 30)?.n, [1, 2, 3].with(1, 9), [1, 2, 3, 4].toSpliced(1, 2)];`,
  "a URL taken apart and put together": `
    const url = new URL("/search?q=caf%C3%A9&page=2#top", "https://example.com:8443/a/b"); url.searchParams.set("page", "3"); url.searchParams.append("tag", "a b"); url.pathname += "/all";
    return [url.href, url.host, url.searchParams.get("q"), [...new URLSearchParams({ a: "1", b: "x y" })], URL.canParse("nope"), new URL("https://münchen.de").hostname, Object.fromEntries(url.searchParams)];`,
  "a query that follows its URL, and a URL that follows its query": `
    const url = new URL("https://u:p@a.b:81/c/../d?x=1&x=2#f"); const query = url.searchParams; url.search = "?n=2&m"; query.append("y z", "ä&+"); query.delete("m");
    const pairs = new URLSearchParams([["k", "v"], ["k", "w"]]); pairs.sort(); const broken: string[] = []; for (const text of ["a=%zz&=&&c=d", "?a=1&b"]) broken.push(new URLSearchParams(text).toString());
    return [url.href, query === url.searchParams, query.getAll("x"), query.size, pairs.getAll("k"), pairs.has("k"), broken, [...query.keys()], JSON.stringify({ url }), new URLSearchParams(query).toString(), \`\${new URLSearchParams(new Map([["m", "1"]]) as any)}\`];`,
  "URLs as Node reads them": `
    return ["HTTP://EXAMPLE.com:80/%7Ea b?q#f", "file:///c:/x/../y", "http://0x7f.1/", "http://[::ffff:1.2.3.4]/", "data:text/plain,a b", "//a", "http://ä.example/é"].map((text) => { try { const { href, origin, host, pathname, search, hash } = new URL(text); return [href, origin, host, pathname, search, hash]; } catch (error) { return error.name; } });`,
  "bytes and text": `
    const bytes = new TextEncoder().encode("héllo ✓"); const back = new TextDecoder().decode(bytes);
    return [bytes.length, back, btoa("hi"), atob("aGk="), Buffer.from("héllo").toString("base64"), Buffer.from("aMOpbGxv", "base64").toString("utf8"), Buffer.from("ff00", "hex").toString("hex"), [...new Uint8Array(new Uint16Array([258]).buffer)]];`,
  "structuredClone of what refers to itself": `
    const given: any = { when: new Date(5), map: new Map([["a", new Set([1])]]), list: [1, [2]] }; given.self = given; const copy = structuredClone(given); copy.list[1].push(3);
    let refused = ""; try { structuredClone({ f: () => 1 }); } catch { refused = "refused"; }
    return [copy.self === copy, copy.when.getTime(), [...copy.map.get("a")], given.list, refused];`,
  "timers and sleep": `
    const order: string[] = []; setTimeout(() => order.push("late"), 20); setTimeout((word: string) => order.push(word), 0, "soon"); queueMicrotask(() => order.push("micro"));
    await new Promise((resolve) => setTimeout(resolve, 30)); const id = setInterval(() => order.push("never"), 1); clearInterval(id);
    const slow = new Promise((resolve) => setTimeout(resolve, 5000, "slow")); const timeout = new Promise((_, reject) => setTimeout(() => reject(new Error("timeout")), 5));
    return [order, await Promise.race([slow, timeout]).catch((error) => error.message)];`,
  "ids by crypto": `
    const id = crypto.randomUUID(); const numbers = crypto.getRandomValues(new Uint8Array(8));
    return [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), numbers.length, id !== crypto.randomUUID()];`,
  "measuring with performance":
    "const from = performance.now(); await new Promise((r) => setTimeout(r, 5)); const took = performance.now() - from; return [took >= 4 && took < 5000, from >= 0, performance.timeOrigin > 1e12];",
  "destructuring, spreading and defaults": `
    const { a = 1, b: { c, ...rest } = { c: 2, d: 3 }, ...others } = { x: 9 } as any; const [head, , third = 3, ...tail] = [1, 2, undefined, 4, 5];
    const merge = (...parts: object[]) => Object.assign({}, ...parts); const key = "dynamic";
    return [a, c, rest, others, head, third, tail, merge({ a: 1 }, { b: 2 }), { [key + 1]: true }, Math.max(...[1, 5, 2])];`,
  "optional chaining and nullish assignment": `
    const user: any = { profile: null, name: "" }; user.count ??= 0; user.count += 1; user.name ||= "anonymous"; user.tags &&= [];
    return [user?.profile?.email ?? "none", user.missing?.(), user.list?.[0], user];`,
  "errors with causes, finally and rethrowing": `
    class NotFound extends Error { constructor(readonly id: number, options?: ErrorOptions) { super("no " + id, options); this.name = "NotFound"; } }
    const log: string[] = []; const find = (id: number) => { try { if (id > 1) throw new TypeError("inner"); return id; } catch (error) { throw new NotFound(id, { cause: error }); } finally { log.push("closed " + id); } };
    find(1); let caught: any; try { find(2); } catch (error) { caught = error; }
    return [log, caught.name, caught.id, caught.cause.message, caught instanceof NotFound, String(caught), new AggregateError([new Error("x")], "many").errors.length];`,
  "try and catch around a tool": `
    const results: unknown[] = []; for (const n of [1, 2]) { try { const { structured } = await tools.echo({ n }); if (structured.n === 2) throw new Error("not two"); results.push(structured); } catch (error) { results.push({ failed: error instanceof Error ? error.message : String(error) }); } }
    return results;`,
  "retries with backoff": `
    const retry = async <T>(work: (attempt: number) => Promise<T>, { times = 3, waitMs = 1 } = {}): Promise<T> => { for (let attempt = 1; ; attempt++) { try { return await work(attempt); } catch (error) { if (attempt >= times) throw error; await new Promise((r) => setTimeout(r, waitMs * 2 ** attempt)); } } };
    return await retry(async (attempt) => { if (attempt < 3) throw new Error("again"); return attempt; });`,
  "a pool of workers over tools": `
    const queue = Array.from({ length: 7 }, (_, n) => n); const done: number[] = [];
    await Promise.all(Array.from({ length: 3 }, async () => { while (queue.length) { const n = queue.shift()!; done.push((await tools.echo({ n })).structured.n * 2); } }));
    return done.sort((a, b) => a - b);`,
  "chunks, ranges, flattening and reducing": `
    const chunk = <T,>(list: T[], size: number): T[][] => Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
    return [chunk([1, 2, 3, 4, 5], 2), [[1, [2]], [3]].flat(2), ["a b", "c"].flatMap((s) => s.split(" ")), [1, 2, 3].reduce((sum, n) => sum + n, 0), [1, 2, 3].at(-1), Object.entries({ a: 1 }).map(([k, v]) => k + v), Array(3).fill(0)];`,
  "memoized recursion with BigInt": `
    const memo = new Map<number, bigint>(); const fib = (n: number): bigint => n < 2 ? BigInt(n) : memo.get(n) ?? (memo.set(n, fib(n - 1) + fib(n - 2)), memo.get(n)!);
    return [fib(90).toString(), (2n ** 64n).toString(16), BigInt.asUintN(8, 257n).toString(), Number(10n)];`,
  "CSV read and written": `
    const csv = 'name,age\\n"Doe, Jane",30\\nBob,41'; const parse = (line: string) => [...line.matchAll(/("([^"]*)"|[^,]*)(,|$)/g)].slice(0, 2).map((m) => m[2] ?? m[1]);
    const [head, ...rows] = csv.split(/\\r?\\n/).map(parse); const objects = rows.map((row) => Object.fromEntries(row.map((cell, i) => [head[i], cell])));
    return [objects, objects.map((o) => Object.values(o).map((v) => /[",\\n]/.test(String(v)) ? JSON.stringify(v) : v).join(",")).join("\\n")];`,
  statistics: `
    const values = [2, 4, 4, 4, 5, 5, 7, 9]; const mean = values.reduce((a, b) => a + b) / values.length; const deviation = Math.sqrt(values.map((v) => (v - mean) ** 2).reduce((a, b) => a + b) / values.length);
    const median = (list: number[]) => { const s = list.toSorted((a, b) => a - b), m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
    return { mean, deviation, median: median(values), hypot: Math.hypot(3, 4), log: Math.log10(1000), trunc: Math.trunc(-4.7), clz: Math.clz32(1), round: [2.5, -2.5, 1.4999].map(Math.round) };`,
  "proxies, symbols and tagged templates": `
    const seen: string[] = []; const spy = new Proxy({ a: 1 } as any, { get: (target, name) => { if (typeof name === "string") seen.push(name); return Reflect.get(target, name) ?? 0; } });
    const tag = (strings: TemplateStringsArray, ...values: unknown[]) => strings.raw.join("|") + values.join(","); class Range { constructor(private from: number, private to: number) {} *[Symbol.iterator]() { for (let n = this.from; n < this.to; n++) yield n; } get [Symbol.toStringTag]() { return "Range"; } }
    return [spy.a + spy.b, seen, tag\`x\${1}y\${2}z\`, [...new Range(1, 4)], String(new Range(0, 1)), String.raw\`\\n\`];`,
  "weak maps, freezing and property descriptors": `
    "use strict"; const frozen = Object.freeze({ a: 1 }); let refused = false; try { (frozen as any).a = 2; } catch { refused = true; }
    const hidden = Object.defineProperty({ shown: 1 }, "hidden", { value: 2, enumerable: false }); const weak = new WeakMap([[frozen, "kept"]]);
    return [refused, Object.keys(hidden), (hidden as any).hidden, weak.get(frozen), Object.isFrozen(frozen), Object.hasOwn(hidden, "hidden"), structuredClone(frozen)];`,
  "text in many ways": `
    const text = "The quick  brown fox"; const title = text.toLowerCase().replace(/\\b\\w/g, (c) => c.toUpperCase()); const count = [...text].reduce<Record<string, number>>((all, c) => ({ ...all, [c]: (all[c] ?? 0) + 1 }), {});
    return [title, text.split(/\\s+/).length, count.o, text.replaceAll("o", "0"), "é".normalize("NFD").length, "👍🏽".length, [..."👍a"].length, "abc".codePointAt(1), text.includes("fox"), "x".repeat(3), " a ".trim(), "camelCaseText".replace(/[A-Z]/g, (c) => "_" + c.toLowerCase()), "a-b".split("-", 1), encodeURIComponent("a&b=ü"), "ß".toUpperCase()];`,
  "a state machine with a discriminated union": `
    type State = { kind: "idle" } | { kind: "busy"; job: string } | { kind: "done"; result: number }; type Event = { type: "start"; job: string } | { type: "finish"; result: number };
    const step = (state: State, event: Event): State => { if (state.kind === "idle" && event.type === "start") return { kind: "busy", job: event.job }; if (state.kind === "busy" && event.type === "finish") return { kind: "done", result: event.result }; return state; };
    const events: Event[] = [{ type: "start", job: "x" }, { type: "finish", result: 7 }]; return events.reduce<State>(step, { kind: "idle" });`,
  "using and disposal": `
    const log: string[] = []; { using a = { [Symbol.dispose]() { log.push("a"); } }; await using b = { async [Symbol.asyncDispose]() { log.push("b"); } }; log.push("body"); } return log;`,
  "a diff of two lists": `
    const before = [{ id: 1, v: "a" }, { id: 2, v: "b" }], after = [{ id: 2, v: "B" }, { id: 3, v: "c" }]; const byId = new Map(before.map((x) => [x.id, x]));
    return { added: after.filter(({ id }) => !byId.has(id)), removed: before.filter(({ id }) => !after.some((x) => x.id === id)), changed: after.filter(({ id, v }) => byId.has(id) && byId.get(id)!.v !== v) };`,
  "a deep merge and a path": `
    const merge = (a: any, b: any): any => Array.isArray(a) || Array.isArray(b) || typeof a !== "object" || typeof b !== "object" || !a || !b ? b : Object.fromEntries([...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, k in b ? (k in a ? merge(a[k], b[k]) : b[k]) : a[k]]));
    const at = (value: any, path: string) => path.split(".").reduce((v, k) => v?.[k], value); return [merge({ a: { x: 1 }, l: [1] }, { a: { y: 2 }, l: [2] }), at({ a: { b: [{ c: 5 }] } }, "a.b.0.c")];`,
  "events and closures": `
    class Emitter<E extends Record<string, unknown[]>> { #handlers = new Map<keyof E, Set<(...given: any[]) => void>>(); on<K extends keyof E>(name: K, run: (...given: E[K]) => void) { (this.#handlers.get(name) ?? this.#handlers.set(name, new Set()).get(name)!).add(run); return () => this.#handlers.get(name)?.delete(run); } emit<K extends keyof E>(name: K, ...given: E[K]) { for (const run of this.#handlers.get(name) ?? []) run(...given); } }
    const heard: number[] = []; const bus = new Emitter<{ tick: [number] }>(); const off = bus.on("tick", (n) => heard.push(n)); bus.emit("tick", 1); off(); bus.emit("tick", 2); const counter = (() => { let n = 0; return () => ++n; })(); counter(); return [heard, counter()];`,
  "a result of a tool, passed on": `
    const first = await tools.echo({ n: 1 }); const second = await tools.echo({ from: first.text, rows: [first.structured] });
    return [first.structured, second.structured, first.status];`,
};

type Body = (tools: object) => Promise<unknown>;
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (...parts: string[]) => Body; // what a function body is made of

/** The same tool as the engine's `echo` here answers. */
const echoing = {
  echo: async (given: object) => ({ text: JSON.stringify(given), structured: given, status: "ok" }),
};

it.each(Object.entries(scripts))("%s", async (_name, source) => {
  const plain = stripTypeScriptTypes(`async () => {${source}\n}`, { mode: "transform" });
  const inNode = await new AsyncFunction("tools", `return (${plain.trim().replace(/;$/, "")})()`)(echoing);
  expect(returned(await run(source, { language: "typescript" }))).toEqual(JSON.parse(JSON.stringify(inNode)));
});

it("keeps values of a script over a freeze", async () => {
  const source = `const url = new URL("https://a.b/?x=1"); const query = url.searchParams; const bytes = new TextEncoder().encode("é");
    await tools.echo({}); query.set("x", "2"); return [url.href, new TextDecoder().decode(bytes), structuredClone({ n: 1 })];`;
  await using first = await world.begin(source);
  await first.next();
  const image = await first.freeze();
  await using later = await world.driver.restore(image, roomyLimits);
  await later.settle([{ place: 0, status: "ok", value: { text: "x" } }]);
  expect(returned(await driveScript(later))).toEqual(["https://a.b/?x=2", "é", { n: 1 }]);
});

it("repeats random ids in a replay only", async () => {
  const source = "return [crypto.randomUUID(), Math.random()]";
  const of = async (chainId: string): Promise<unknown> => {
    await using session = await world.begin(source, { chainId });
    return returned(await driveScript(session));
  };
  expect(await of("chain-1")).toEqual(await of("chain-1"));
  expect(await of("chain-1")).not.toEqual(await of("chain-2"));
});

it("refuses missing globals before the script begins", async () => {
  const program = { language: "javascript", tools: [], chainId: "c" } as const;
  const source = 'await tools.echo({});\nconst page = await fetch("https://x");';
  expect(await world.driver.check?.({ ...program, source })).toEqual({
    invalid: "`fetch` (line 2) is not here. A script reaches no network; call a tool instead.",
  });
});
