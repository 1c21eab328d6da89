/** What scripts cost those who did not ask for them: scripts that wait for persons, and callers beside a script that behaves badly. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCredentials, readToken } from "../src/doors/credentials.ts";
import { createClient } from "../src/doors/http/client.ts";
import { createHttpDoor } from "../src/doors/http/http-door.ts";
import { listen, loopbackHosts } from "../src/doors/http/serve.ts";
import { createRuntime, defineTool, type Json, type Runtime } from "../src/index.ts";
import { median, timed } from "./harness.ts";

const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const tools = [
  defineTool({
    ...{ name: "echo", description: "Says it again.", risk: "safe", effects: "read", idempotent: true, input },
    execute: (given) => (given as { readonly text: string }).text, // the schema says so
  }),
  defineTool({
    ...{ name: "mail", description: "Sends.", risk: "high", effects: "write", idempotent: false, input },
    execute: () => "sent",
  }),
];

export interface WholeFigures {
  readonly engine: string;
  /** Fifty calls of a script, with `tool_chain` itself through every gate, less fifty calls made directly. */
  readonly aboveMs: number;
  readonly scriptMs: number;
  readonly callsMs: number;
}

/** A server that has been up for a while. */
const warmUpScripts = 30;

/** A script as a model sends it: through the whole path. Python that was not seen before is checked first. */
export async function wholePath(engine: string, rounds: number, isNew: boolean): Promise<WholeFigures> {
  const runtime = await createRuntime({ tools, chains: { engines: [engine] } });
  try {
    const scripts: number[] = [];
    const direct: number[] = [];
    for (let i = -warmUpScripts; i < rounds; i++) {
      if (i >= 0) await quiet();
      scripts.push(
        await timed(async () => {
          const { status, text } = await runtime.runChain(fifty(engine, isNew ? i : 0));
          if (status !== "ok") throw new Error(`The script ended ${status}: ${text}`);
        }),
      );
      await using session = runtime.openSession();
      direct.push(
        await timed(async () => {
          for (let n = 0; n < 50; n++) await session.invoke({ tool: "echo", arguments: { text: `${n}` } });
        }),
      );
    }
    const [scriptMs, callsMs] = [median(scripts.slice(warmUpScripts)), median(direct.slice(warmUpScripts))];
    const which = `${engine}, ${isNew ? "each time another script" : "a script it has seen"}`;
    return { engine: which, scriptMs, callsMs, aboveMs: scriptMs - callsMs };
  } finally {
    await runtime.close();
  }
}

function fifty(engine: string, n: number): ReturnType<typeof waiting> {
  if (engine !== "quickjs")
    return { language: "python", code: `for i in range(50):\n    tools.echo(text=str(i))\n# ${n}` };
  return {
    language: "javascript",
    code: `for (let i = 0; i < 50; i++) await tools.echo({ text: String(i) }); // ${n}`,
  };
}

export interface FrozenFigures {
  readonly engine: string;
  readonly frozen: number;
  readonly secondsToFreezeThem: number;
  /** More than before the first script: warm ones wait in both. */
  readonly processesAbove: number;
  readonly imageBytes: number;
  readonly residentMegabytesAbove: number;
  /** On disk, with rows, requests and audit events. */
  readonly bytesEach: number;
}

/** Scripts that wait for a person, through the whole path and on a file: what one of them costs while it waits. */
export async function frozenScripts(engine: string, count: number): Promise<FrozenFigures> {
  const folder = mkdtempSync(join(tmpdir(), "postern-frozen-"));
  try {
    await frozenIn(folder, engine, { from: 0, count: 1 });
    const bytes = bytesIn(folder);
    const found = await frozenIn(folder, engine, { from: 1, count });
    return { engine, frozen: count, ...found, bytesEach: (bytesIn(folder) - bytes) / count };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The store is closed when it returns, so that a file's size says what is in it. */
async function frozenIn(
  folder: string,
  engine: string,
  { from, count }: { from: number; count: number },
): Promise<Omit<FrozenFigures, "engine" | "frozen" | "bytesEach">> {
  const runtime = await createRuntime({
    ...{ tools, store: `sqlite:${join(folder, "postern.db")}`, folder },
    ...{ chains: { engines: [engine] }, approvals: { patience: "suspend" } },
  });
  const freeze = async (n: number): Promise<void> => {
    const { status } = await runtime.runChain(waiting(engine, n));
    if (status !== "pending") throw new Error(`It did not wait but ended ${status}.`);
  };
  try {
    await freeze(from);
    await quiet();
    const before = { processes: children(), resident: process.memoryUsage.rss() };
    const begun = performance.now();
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      for (let n = worker; n < count; n += 8) await freeze(from + n);
    });
    await Promise.all(workers);
    const secondsToFreezeThem = (performance.now() - begun) / 1_000;
    await new Promise((resolve) => setTimeout(resolve, 3_000)); // more are kept while many come
    const [one] = (await runtime.chains?.list({ limit: 1 })) ?? [];
    return {
      secondsToFreezeThem,
      processesAbove: children() - before.processes,
      imageBytes: one?.imageBytes ?? 0,
      residentMegabytesAbove: (process.memoryUsage.rss() - before.resident) / 2 ** 20,
    };
  } finally {
    await runtime.close();
  }
}

function waiting(engine: string, n: number): { readonly code: string; readonly language: "python" | "javascript" } {
  if (engine !== "quickjs") return { language: "python", code: `tools.mail(text="${n}").text` };
  return { language: "javascript", code: `(await tools.mail({ text: "${n}" })).text` };
}

export interface NeighbourFigures {
  readonly attack: string;
  readonly by: "http" | "library";
  readonly quietP99Microseconds: number;
  readonly attackedP99Microseconds: number;
  /** Median over pairs of windows, one quiet and one attacked, one right after the other. 1: nobody noticed. */
  readonly ratio: number;
}

const attacks: readonly (readonly [name: string, code: string])[] = [
  ["an endless loop", "while (true) {}"],
  ["memory", 'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)'],
  ["a flood of output", 'for (;;) console.log("x".repeat(1000))'],
  ["calls without end", 'for (;;) try { await tools.echo({ text: "x" }) } catch {}'],
];

/** A neighbour's way to the same runtime. */
interface Neighbour extends AsyncDisposable {
  readonly by: NeighbourFigures["by"];
  call(text: string): Promise<unknown>;
}

/** Callers of a tool, each window beside a script that behaves badly and without one: over HTTP, and in this process. */
export async function neighbours(pairs: number, windowMs: number): Promise<readonly NeighbourFigures[]> {
  const runtime = await createRuntime({
    ...{ tools, approvals: { patience: "suspend" } },
    chains: { engines: ["quickjs"], cpuMs: 60_000, limits: { maxToolCalls: 10_000 } },
  });
  try {
    const figures: NeighbourFigures[] = [];
    for (const open of [overHttp, inProcess]) {
      await using neighbour = await open(runtime);
      await window(neighbour, 1_000);
      for (const [attack, code] of attacks)
        figures.push(await beside(runtime, neighbour, { attack, code, pairs, windowMs }));
    }
    return figures;
  } finally {
    await runtime.close();
  }
}

async function inProcess(runtime: Runtime): Promise<Neighbour> {
  const session = runtime.openSession({ maxToolCalls: 10_000_000 });
  return {
    by: "library",
    call: (text) => session.invoke({ tool: "echo", arguments: { text } }),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function overHttp(runtime: Runtime): Promise<Neighbour> {
  const folder = mkdtempSync(join(tmpdir(), "postern-neighbour-"));
  const credentials = await openCredentials(folder);
  let hosts: readonly string[] = [];
  const door = createHttpDoor({ runtime, credentials, hosts: () => hosts });
  const { url, port, close } = await listen({ door, port: 0 });
  hosts = loopbackHosts(port);
  const client = createClient({ url, token: (await readToken(folder, "agent")) ?? "" });
  return {
    by: "http",
    call: (text) => client.call({ tool: "echo", arguments: { text } }),
    [Symbol.asyncDispose]: async () => {
      await close(0);
      await door.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function beside(
  runtime: Runtime,
  neighbour: Neighbour,
  { attack, code, pairs, windowMs }: { attack: string; code: string; pairs: number; windowMs: number },
): Promise<NeighbourFigures> {
  const quietOnes: number[] = [];
  const attacked: number[] = [];
  const ratios: number[] = [];
  for (let i = 0; i < pairs; i++) {
    await quiet();
    const without = await window(neighbour, windowMs);
    const cancel = new AbortController();
    const script = runtime
      .runChain({ code, language: "javascript" }, { signal: cancel.signal })
      .catch((): Json => null); // it is stopped with its window
    const within = await window(neighbour, windowMs);
    cancel.abort();
    await script;
    quietOnes.push(without);
    attacked.push(within);
    ratios.push(within / without);
  }
  return {
    attack,
    by: neighbour.by,
    quietP99Microseconds: median(quietOnes),
    attackedP99Microseconds: median(attacked),
    ratio: median(ratios),
  };
}

/** The 99th percentile of calls made one after another, in microseconds. */
async function window(neighbour: Neighbour, ms: number): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + ms;
  for (let n = 0; performance.now() < end; n++) {
    const begun = performance.now();
    await neighbour.call(String(n));
    times.push((performance.now() - begun) * 1_000);
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve)); // the script's frames are read in between
  }
  times.sort((one, other) => one - other);
  return times[Math.floor(times.length * 0.99)] ?? 0;
}

/** Processes of ours, sandboxes included. */
function children(): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === process.pid;
    } catch {
      return false; // it has just ended
    }
  }).length;
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Warm ones start in the background. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 600));
}
