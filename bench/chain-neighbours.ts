/** What a script that behaves badly costs those who call beside it: `npm run bench:chains -- --neighbours`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCredentials, readToken } from "../src/doors/credentials.ts";
import { createClient } from "../src/doors/http/client.ts";
import { createHttpDoor } from "../src/doors/http/http-door.ts";
import { listen, loopbackHosts } from "../src/doors/http/serve.ts";
import { createRuntime, type Json, type Runtime } from "../src/index.ts";
import { quiet, tools } from "./chain-scenes.ts";

export interface NeighbourFigures {
  readonly attack: string;
  readonly by: "http" | "library";
  /** On the quieter side. */
  readonly calls: number;
  /** Of all calls of all windows of a side. */
  readonly quietP99Microseconds: number;
  readonly attackedP99Microseconds: number;
  /** One by the other. 1: nobody noticed. */
  readonly ratio: number;
  /** The middle half of the pairs, each a quiet window and an attacked one right after it. */
  readonly spread: string;
}

export interface NeighbourOptions {
  readonly pairs: number;
  readonly windowMs: number;
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

/** Callers of a tool beside a script that behaves badly and without one, window by window: over HTTP, and in this process. */
export async function neighbours(options: NeighbourOptions): Promise<readonly NeighbourFigures[]> {
  const runtime = await createRuntime({
    ...{ tools, approvals: { patience: "suspend" } },
    chains: { engines: ["quickjs"], cpuMs: 60_000, limits: { maxToolCalls: 10_000 } },
  });
  try {
    const figures: NeighbourFigures[] = [];
    for (const open of [overHttp, inProcess]) {
      await using neighbour = await open(runtime);
      await window(neighbour, 2_000);
      for (const attack of attacks) figures.push(await beside(runtime, neighbour, { attack, ...options }));
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
  { attack: [attack, code], pairs, windowMs }: NeighbourOptions & { readonly attack: (typeof attacks)[number] },
): Promise<NeighbourFigures> {
  const without: number[][] = [];
  const within: number[][] = [];
  for (let i = 0; i < pairs; i++) {
    await quiet();
    without.push(await window(neighbour, windowMs));
    const cancel = new AbortController();
    const script = runtime
      .runChain({ code, language: "javascript" }, { signal: cancel.signal })
      .catch((): Json => null); // it is stopped with its window
    within.push(await window(neighbour, windowMs));
    cancel.abort();
    await script;
  }
  const [quietP99, attackedP99] = [p99(without.flat()), p99(within.flat())];
  const ratios = within.map((times, i) => p99(times) / p99(without[i] ?? [])).sort((one, other) => one - other);
  const at = (share: number): string => (ratios[Math.floor((ratios.length - 1) * share)] ?? 0).toFixed(2);
  return {
    ...{ attack, by: neighbour.by, calls: Math.min(without.flat().length, within.flat().length) },
    ...{ quietP99Microseconds: quietP99, attackedP99Microseconds: attackedP99 },
    ...{ ratio: attackedP99 / quietP99, spread: `${at(0.25)} to ${at(0.75)}` },
  };
}

/** Calls made one after another, each in microseconds. */
async function window(neighbour: Neighbour, ms: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + ms;
  for (let n = 0; performance.now() < end; n++) {
    const begun = performance.now();
    await neighbour.call(String(n));
    times.push((performance.now() - begun) * 1_000);
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve)); // the script's frames are read in between
  }
  return times;
}

function p99(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
}
