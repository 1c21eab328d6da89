/** What a script costs through the whole path, and what one costs that waits for a person. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxDriver } from "../packages/core/src/sandbox/sandbox.ts";
import type { ChainOptions } from "../packages/postern/src/code-mode/chain-options.ts";
import { createRuntime, defineTool, type RuntimeOptions } from "../packages/postern/src/index.ts";
import { median, timed } from "./harness.ts";

/** An engine as the package ships it; whoever opens it closes it. */
export type OpenEngine = () => Promise<SandboxDriver>;

/** One engine, and its processes run that program: what lies beside the sources starts slower. */
async function alone(open: OpenEngine): Promise<{ readonly engine: string; readonly chains: ChainOptions }> {
  const driver = await open();
  return { engine: driver.name, chains: { engines: [driver.name], drivers: [driver] } };
}

const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
export const tools: readonly ReturnType<typeof defineTool>[] = [
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

const seenBefore = "a script it has seen";
const seenNever = "each time another script";

export interface WholeOptions {
  readonly rounds: number;
  /** Where what happened is put on record. */
  readonly kept: "in memory" | "on a disk";
  /** Scripts that ran before in the same runtime: a server has been up for a while, and its code is compiled by and by. */
  readonly scriptsBefore: number;
}

/**
 * A script as a model sends it: through the whole path. Python that was not seen before is checked first. Both in turn, so
 * that what else the machine does is done to either.
 */
export async function wholePath(open: OpenEngine, options: WholeOptions): Promise<readonly WholeFigures[]> {
  if (options.kept === "in memory") return wholePathIn(open, options, {});
  const folder = mkdtempSync(join(tmpdir(), "postern-whole-"));
  try {
    return await wholePathIn(open, options, { store: `sqlite:${join(folder, "postern.db")}`, folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function wholePathIn(
  open: OpenEngine,
  { rounds, kept, scriptsBefore }: WholeOptions,
  place: Pick<RuntimeOptions, "store" | "folder">,
): Promise<readonly WholeFigures[]> {
  const { engine, chains } = await alone(open);
  const runtime = await createRuntime({ tools, ...place, chains });
  const scripts = new Map<string, number[]>([
    [seenNever, []],
    [seenBefore, []],
  ]);
  const direct: number[] = [];
  try {
    for (let i = -Math.ceil(scriptsBefore / scripts.size); i < rounds; i++)
      for (const [which, times] of scripts) {
        if (i >= 0) await quiet();
        const scriptMs = await timed(async () => {
          const { status, text } = await runtime.runChain(fifty(engine, which === seenNever ? i : "again"));
          if (status !== "ok") throw new Error(`The script ended ${status}: ${text}`);
        });
        await using session = runtime.openSession();
        const callsMs = await timed(async () => {
          for (let n = 0; n < 50; n++) await session.invoke({ tool: "echo", arguments: { text: `${n}` } });
        });
        if (i >= 0) times.push(scriptMs);
        if (i >= 0) direct.push(callsMs);
      }
  } finally {
    await runtime.close();
  }
  const callsMs = median(direct);
  return [...scripts].map(([which, times]) => {
    const scriptMs = median(times);
    const where = kept === "in memory" ? "" : `, ${kept}`;
    return { engine: `${engine}, ${which}${where}`, scriptMs, callsMs, aboveMs: scriptMs - callsMs };
  });
}

function fifty(engine: string, n: number | string): ReturnType<typeof waiting> {
  if (engine !== "quickjs")
    return { language: "python", code: `for i in range(50):\n    tools.echo(text=str(i))\n# ${n}` };
  return {
    language: "javascript",
    code: `for (let i = 0; i < 50; i++) await tools.echo({ text: String(i) }); // ${n}`,
  };
}

export interface ManyToolsFigures {
  readonly engine: string;
  readonly tools: number;
  /** A script of one call, each time another one. */
  readonly scriptMs: number;
  /** What of that the host computes itself: nobody else has a turn meanwhile. */
  readonly hostMs: number;
}

/** What it costs a script to be offered as many tools as a gateway before many servers has. */
export async function amongManyTools(open: OpenEngine, count: number, rounds: number): Promise<ManyToolsFigures> {
  const field = { type: "string", description: "What it is about, in a sentence, as servers describe their fields." };
  const properties = Object.fromEntries(
    Array.from({ length: 8 }, (_, n): [string, typeof field] => [`field_${n}`, field]),
  );
  const description = "Does something with the things of that server, and says what came of it.";
  const many = Array.from({ length: count }, (_, n) =>
    defineTool({
      ...{ name: `server_${n % 20}_tool_${n}`, description, risk: "safe", effects: "read", idempotent: true },
      input: { type: "object", properties, required: ["field_0"] },
      execute: () => "done",
    }),
  );
  const { engine, chains } = await alone(open);
  await using runtime = await createRuntime({ tools: many, chains });
  const script: number[] = [];
  const host: number[] = [];
  for (let n = -10; n < rounds; n++) {
    await quiet();
    const before = process.cpuUsage();
    const ms = await timed(async () => {
      const { status, text } = await runtime.runChain(one(engine, n));
      if (status !== "ok") throw new Error(`The script ended ${status}: ${text}`);
    });
    const { user, system } = process.cpuUsage(before);
    if (n < 0) continue;
    script.push(ms);
    host.push((user + system) / 1_000);
  }
  return { engine, tools: count, scriptMs: median(script), hostMs: median(host) };
}

function one(engine: string, n: number): ReturnType<typeof waiting> {
  if (engine !== "quickjs") return { language: "python", code: `tools.server_0_tool_0(field_0="${n}").text` };
  return { language: "javascript", code: `(await tools.server_0_tool_0({ field_0: "${n}" })).text` };
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
export async function frozenScripts(open: OpenEngine, count: number): Promise<FrozenFigures> {
  const folder = mkdtempSync(join(tmpdir(), "postern-frozen-"));
  try {
    await frozenIn(folder, open, { from: 0, count: 1 });
    const bytes = bytesIn(folder);
    const found = await frozenIn(folder, open, { from: 1, count });
    return { frozen: count, ...found, bytesEach: (bytesIn(folder) - bytes) / count };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The store is closed when it returns, so that a file's size says what is in it. */
async function frozenIn(
  folder: string,
  open: OpenEngine,
  { from, count }: { from: number; count: number },
): Promise<Omit<FrozenFigures, "frozen" | "bytesEach">> {
  const { engine, chains } = await alone(open);
  const runtime = await createRuntime({
    ...{ tools, store: `sqlite:${join(folder, "postern.db")}`, folder },
    ...{ chains, approvals: { patience: "suspend" } },
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
    if (count > 1) await new Promise((resolve) => setTimeout(resolve, 3_000)); // more are kept while many come
    const [one] = (await runtime.chains?.list({ limit: 1 })) ?? [];
    return {
      engine,
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
export function quiet(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 600));
}
