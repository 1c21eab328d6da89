import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { zstdCompressSync } from "node:zlib";
import type { SandboxSession } from "@postern/core/sandbox";
import type { Snapshot } from "quickjs-wasi";
import { beforeAll, expect, it } from "vitest";
import { driveScript, returned, roomyLimits, sketch } from "../../../../test/fakes/scripts.ts";
import { warmScripts } from "../../../../test/fakes/warm-scripts.ts";
import { extensionsOf } from "./driver.ts";
import { packImage, readHead, snapshotOf } from "./image.ts";
import { preludeSource } from "./prelude.ts";
import { baseOf, blank } from "./template.ts";

const scripts = warmScripts();
let base: Snapshot;
beforeAll(async () => {
  const path = fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"));
  const moduleAt = (file: string) => new WebAssembly.Module(readFileSync(file));
  const extensions = extensionsOf(path).map(({ name, path: file }) => ({ name, wasm: moduleAt(file) }));
  base = await baseOf(await blank({ wasm: moduleAt(path), extensions }, preludeSource));
});

const source = `const rows = new Map([["a", { n: 1 }]]);
class Sum { #total = 40; add(n) { this.#total += n; return this.#total } }
const sum = new Sum();
async function inner() { try { return (await tools.echo({ ask: 1 })).structured.ask } finally { rows.set("b", { n: 2 }) } }
const first = await inner();
const [x, y] = await Promise.all([tools.read({ n: 2 }), inner()]);
console.log(rows.size);
sum.add(first) + y`;

async function begun(text = source): Promise<SandboxSession> {
  return scripts.begin(text);
}

async function frozen(text = source): Promise<Uint8Array> {
  await using session = await begun(text);
  expect(await session.next()).toMatchObject({ step: "calls", calls: [{ place: 0 }] });
  return await session.freeze();
}

it("freezes a waiting script and continues it in another process", async () => {
  const image = await frozen();
  await using thawed = await scripts.driver.restore(image, roomyLimits);
  await thawed.settle([{ place: 0, status: "ok", value: { structured: { ask: 1 } } }]);
  const ran = await driveScript(thawed);
  expect(ran.calls.map(({ place, line }) => [place, line])).toEqual([
    [1, 6],
    [2, 4],
  ]);
  expect([returned(ran), ran.out]).toEqual([42, "2\n"]);
});

it("keeps images small among a thousand tools, and finds them all again", async () => {
  const tools = Array.from({ length: 1_000 }, (_, n) => {
    const server = `server_${n % 20}`;
    return { ...sketch(`${server}__list_every_customer_${n}`, server), short: `list_every_customer_${n}` };
  });
  const source =
    "await tools.server_3.list_every_customer_3({}); [tools.list_every_customer_999, tools.server_4.nothing]";
  await using session = await scripts.begin(source, { tools });
  expect(await session.next()).toMatchObject({ calls: [{ tool: "server_3__list_every_customer_3" }] });
  const image = await session.freeze();
  expect(image.length).toBeLessThan(100_000);
  await using thawed = await scripts.driver.restore(image, roomyLimits);
  await thawed.settle([{ place: 0, status: "ok", value: null }]);
  expect((await driveScript(thawed)).end).toMatchObject({
    message: expect.stringMatching(/^Error: There is no tools\.server_4\.nothing\. There are: .*\(50 in all\)\.$/),
  });
});

it("thaws one image many times, each time the same", async () => {
  const image = await frozen("const r = Math.random(); await tools.echo({ r }); r");
  const values = await Promise.all(
    [1, 2].map(async () => {
      await using thawed = await scripts.driver.restore(image, roomyLimits);
      await thawed.settle([{ place: 0, status: "ok", value: null }]);
      return returned(await driveScript(thawed));
    }),
  );
  expect(values[0]).toBe(values[1]);
});

it("shows the same times in a replay and after a thaw", async () => {
  const startedAt = Date.UTC(2026, 10, 20, 9);
  const timely = `const begun = new Date(); const looks = [Date.now(), performance.now()];
await new Promise((done) => setTimeout(done, 20));
const slept = Date.now() - begun;
await tools.echo({ begun, looks, slept });
[begun.toISOString(), slept >= 20 && slept < 25, Date.now() - begun >= slept, Date.now()]`;
  const told: unknown[] = [];
  const asked: unknown[] = [];
  for (const way of ["thawed", "replayed"]) {
    await using session = await scripts.begin(timely, { startedAt });
    const step = await session.next();
    asked.push(step.step === "calls" && step.calls[0]?.arguments);
    await using goes = way === "thawed" ? await scripts.driver.restore(await session.freeze(), roomyLimits) : session;
    await goes.settle([{ place: 0, status: "ok", value: null }]);
    told.push(returned(await driveScript(goes)));
  }
  expect(asked[0]).toMatchObject({ begun: "2026-11-20T09:00:00.000Z" });
  expect(asked[1]).toEqual(asked[0]);
  expect(told[0]).toEqual(["2026-11-20T09:00:00.000Z", true, true, expect.any(Number)]);
  expect(told[1]).toEqual(told[0]);
});

it("freezes a thawed script again", async () => {
  const first = await frozen("const a = await tools.echo({}); const b = await tools.echo({}); [a.text, b.text]");
  await using once = await scripts.driver.restore(first, roomyLimits);
  await once.settle([{ place: 0, status: "ok", value: { text: "a" } }]);
  expect(await once.next()).toMatchObject({ calls: [{ place: 1 }] });
  const second = await once.freeze();
  await using twice = await scripts.driver.restore(second, roomyLimits);
  await twice.settle([{ place: 1, status: "ok", value: { text: "b" } }]);
  expect(returned(await driveScript(twice))).toEqual(["a", "b"]);
});

it("throws for a denied call in a thawed script too", async () => {
  const image = await frozen(
    "try { await tools.echo({}) } catch (error) { [error instanceof ToolDenied, error.code] }",
  );
  await using thawed = await scripts.driver.restore(image, roomyLimits);
  await thawed.settle([{ place: 0, status: "denied", code: "approval_denied", value: null }]);
  expect(returned(await driveScript(thawed))).toEqual([true, "approval_denied"]);
});

it("keeps the lines of transformed TypeScript", async () => {
  const typed = "enum Level { Low = 1 }\n\nawait tools.echo({ n: Level.Low });\nawait tools.echo({ n: 2 });";
  await using session = await scripts.begin(typed, { language: "typescript" });
  expect(await session.next()).toMatchObject({ calls: [{ line: 3 }] });
  await using thawed = await scripts.driver.restore(await session.freeze(), roomyLimits);
  await thawed.settle([{ place: 0, status: "ok", value: null }]);
  expect(await thawed.next()).toMatchObject({ calls: [{ line: 4 }] });
});

it("freezes only a script that waits, before any result arrives", async () => {
  await using session = await begun();
  await expect(session.freeze()).rejects.toThrow("Only a script that waits");
  await session.next();
  await session.settle([{ place: 0, status: "ok", value: null }]);
  await expect(session.freeze()).rejects.toThrow("Only a script that waits");
});

it("keeps an ordinary image below 50 kB", async () => {
  const image = await frozen();
  expect(image.byteLength).toBeLessThan(50_000);
});

it("applies new limits to a thawed script", async () => {
  const image = await frozen("await tools.echo({}); for (;;) {}");
  await using thawed = await scripts.driver.restore(image, { ...roomyLimits, cpuMs: 100 });
  await thawed.settle([{ place: 0, status: "ok", value: null }]);
  expect(await thawed.next()).toMatchObject({ step: "failed", why: "cpu" });
});

it("refuses an image that is damaged anywhere", async () => {
  const unusable = {
    code: "internal",
    message: expect.stringMatching(/^The frozen script (?:is damaged|cannot be thawed|has no record)/),
  };
  const image = await frozen();
  for (const at of [0, 7, 45, 300, image.byteLength - 1]) {
    const bad = Uint8Array.from(image);
    bad[at] = (bad[at] ?? 0) ^ 1;
    await expect(scripts.driver.restore(bad, roomyLimits)).rejects.toMatchObject(unusable);
  }
  for (const none of [new Uint8Array(), randomBytes(5_000), image.subarray(0, 100)]) {
    await expect(scripts.driver.restore(none, roomyLimits)).rejects.toMatchObject(unusable);
  }
});

it("refuses an image of another engine, and says which", async () => {
  const found = readHead(await frozen());
  if (found === undefined) throw new Error("no head");
  const { memory } = snapshotOf(found, base);
  const foreign = packImage({ ...found.head, engine: "quickjs-wasi/other" }, memory, base.memory);
  await expect(scripts.driver.restore(foreign, roomyLimits)).rejects.toMatchObject({
    code: "internal",
    message: expect.stringContaining("quickjs-wasi/other"),
  });
});

it("limits the harm of a forged image to its own process", async () => {
  const found = readHead(await frozen());
  if (found === undefined) throw new Error("no head");
  const { memory } = snapshotOf(found, base);
  for (const change of [
    (bytes: Uint8Array) => bytes.fill(0xff, 1_000, 200_000),
    (bytes: Uint8Array) => bytes.fill(0, 100_000),
    (bytes: Uint8Array) => {
      for (let i = 0; i < bytes.length; i += 97) bytes[i] = (bytes[i] ?? 0) ^ 0x55;
      return bytes;
    },
  ]) {
    const ended = await hardly(packImage(found.head, change(Uint8Array.from(memory)), base.memory));
    expect(ended).toMatch(/refused|failed|done|calls/);
  }
  const wild = packImage(
    { ...found.head, slots: { settle: 4, drain: 0xffff_fff0, tick: 8, follow: 12, begin: 16, notice: 20 } },
    memory,
    base.memory,
  );
  expect(await hardly(wild)).toMatch(/refused|failed/);
  const bomb = Buffer.concat([zstdCompressSync(Buffer.alloc(1 << 20))]);
  expect(readHead(bomb)).toBeUndefined();
  expect(await hardly(packImage({ ...found.head, memoryBytes: 1_000 }, memory, base.memory))).toBe("refused");
});

async function hardly(image: Uint8Array): Promise<string> {
  try {
    await using thawed = await scripts.driver.restore(image, { ...roomyLimits, cpuMs: 500, wallMs: 3_000 });
    await thawed.settle([{ place: 0, status: "ok", value: null }]);
    return (await thawed.next()).step;
  } catch {
    return "refused";
  }
}
