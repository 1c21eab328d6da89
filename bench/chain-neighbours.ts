/** What a script that behaves badly costs those who call beside it: `npm run bench:chains -- --neighbours`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { standBack } from "../src/chains/drivers/child/priority.ts";
import { createRuntime, type Json, type Runtime, type RuntimeSession } from "../src/index.ts";
import { quiet, tools } from "./chain-scenes.ts";
import { median } from "./harness.ts";
import { holdStarted } from "./held.ts";
import { httpCaller } from "./http-caller.ts";
import { served } from "./served.ts";

export interface NeighbourFigures {
  /** What was there besides. */
  readonly beside: string;
  readonly by: "http" | "library";
  readonly calls: number;
  /** Of each window's calls; the middle one of its windows, as what else a machine does is in a few of them. */
  readonly p99Microseconds: number;
  /** Of calls in between, while the scene was held still. */
  readonly heldP99Microseconds: number;
  /** What the calls beside it took to those in between, of all windows (Hodges and Lehmann). 1: nobody noticed. */
  readonly ratio: number;
  /** Between these it is, in nine cases of ten. */
  readonly between: string;
  /** The ratio to calls beside a plain process that does the same to the machine: what is Postern's, and not the machine's. */
  readonly toFloor: number;
}

export interface NeighbourOptions {
  /** Over HTTP twice as many: a window has a twentieth of the calls there. */
  readonly rounds: number;
  readonly windowMs: number;
  /** Scenes whose names hold this, beside nothing and the floors. None: all of them. */
  readonly beside?: string | undefined;
}

/** Goes on until it is stopped, or has come to its end. */
interface Scene {
  readonly name: string;
  /** What it is held against, where that is not what is always busy. */
  readonly floor?: Scene;
  /** All that is there before it begins. */
  prepare(runtime: Runtime): Promise<Begin>;
}

type Begin = () => () => Promise<unknown>;

/** How well a measure measures: there is nothing to hold still. */
const nothing: Scene = { name: "nothing", prepare: async () => () => () => Promise.resolve() };
/** The politest processes there are, without Postern: what a machine of this size does to those who share it. */
const floor = plainProcess("a plain busy process at niceness 19 (the floor)", "for (;;);");
const memoryFloor = plainProcess(
  "a plain process at niceness 19 that takes 128 MiB (the floor of memory)",
  "for (const a = []; a.length * 1e5 < 128 << 20; ) a.push(Buffer.alloc(1e5, 120));",
);
const heldAgainst: ReadonlySet<Scene> = new Set([nothing, floor, memoryFloor]);
const calls = 'for (;;) try { await tools.echo({ text: "x" }) } catch {}';
const callsAtOnce = 'for (;;) await Promise.allSettled(Array(1000).fill({ text: "x" }).map(tools.echo))';

/** What scripts may do, and what is done beside their neighbours. */
interface Setting {
  /** Calls of a script. */
  readonly maxToolCalls: number;
  readonly scenes: readonly Scene[];
}

const settings: readonly Setting[] = [
  {
    maxToolCalls: 50, // as it is where nobody sets it
    scenes: [
      nothing,
      floor,
      memoryFloor,
      script("an endless loop", "while (true) {}"),
      { ...script("memory", 'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)'), floor: memoryFloor },
      script("a flood of output", 'for (;;) console.log("x".repeat(1000))'),
      script("calls without end", calls),
      script("a thousand calls at once, without end", callsAtOnce),
    ],
  },
  {
    maxToolCalls: 1_000_000,
    scenes: [
      nothing,
      floor,
      script("calls without end, a million allowed", calls),
      script("a thousand calls at once, a million allowed", callsAtOnce),
    ],
  },
];

function script(name: string, code: string): Scene {
  const prepare = async (runtime: Runtime): Promise<Begin> => {
    return () => {
      const cancel = new AbortController();
      const ended = runtime
        .runChain({ code, language: "javascript" }, { signal: cancel.signal })
        .catch((): Json => null); // it is stopped with its window
      return (): Promise<unknown> => {
        cancel.abort();
        return ended;
      };
    };
  };
  return { name, prepare };
}

/** It waits for a word, as a sandbox that is ready does: nobody measures its start. */
function plainProcess(name: string, code: string): Scene {
  const prepare = async (): Promise<Begin> => {
    const program = `console.log(); process.stdin.once("data", () => { ${code} process.exit() })`;
    const child = spawn(process.execPath, ["-e", program], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
    const gone = once(child, "exit");
    if (child.pid !== undefined) standBack(child.pid, 19);
    await once(child.stdout, "data");
    return () => {
      child.stdin.write("go");
      return () => {
        child.kill("SIGKILL");
        return gone;
      };
    };
  };
  return { name, prepare };
}

/** A neighbour's way to the same runtime. */
interface Neighbour extends AsyncDisposable {
  readonly by: NeighbourFigures["by"];
  /** Throws where the tool did not run: a refusal is quicker than a call. */
  call(text: string): Promise<unknown>;
}

/** Of one session: none has a budget for all of them. */
const callsOfOne = 5_000;

/** Callers of a tool beside a script that behaves badly and without one, window by window: over HTTP, and in this process. */
export async function neighbours(options: NeighbourOptions): Promise<readonly NeighbourFigures[]> {
  const figures: NeighbourFigures[] = [];
  for (const { maxToolCalls, scenes } of settings) {
    const { beside = "" } = options;
    const wanted = scenes.filter((scene) => heldAgainst.has(scene) || scene.name.includes(beside));
    if (wanted.every((scene) => heldAgainst.has(scene))) continue;
    const common = { ...options, maxToolCalls };
    figures.push(...(await besideAll(wanted, { ...common, open: overHttp, rounds: 2 * options.rounds })));
    figures.push(...(await besideAll(wanted, { ...common, open: inProcess })));
  }
  return figures;
}

async function inProcess(runtime: Runtime): Promise<Neighbour> {
  let made = 0;
  let session: RuntimeSession | undefined;
  return {
    by: "library",
    call: async (text) => {
      if (made++ % callsOfOne === 0) {
        await session?.close();
        session = runtime.openSession();
      }
      const outcome = await session?.invoke({ tool: "echo", arguments: { text } });
      if (outcome?.status !== "ok") throw new Error(`A neighbour's call ended ${outcome?.text}`);
    },
    [Symbol.asyncDispose]: async () => session?.close(),
  };
}

async function overHttp(runtime: Runtime): Promise<Neighbour> {
  const { url, token, close } = await served(runtime);
  const caller = httpCaller(url, token);
  return {
    by: "http",
    call: caller.call,
    [Symbol.asyncDispose]: async () => {
      caller[Symbol.dispose]();
      await close();
    },
  };
}

interface Besides extends NeighbourOptions, Pick<Setting, "maxToolCalls"> {
  readonly open: (runtime: Runtime) => Promise<Neighbour>;
}

/**
 * Every scene in every round, each time another one first, and each round with a runtime of its own: what the books grow to is
 * there for all of them.
 */
async function besideAll(scenes: readonly Scene[], options: Besides): Promise<readonly NeighbourFigures[]> {
  const windows = new Map<Scene, Window[]>(scenes.map((scene) => [scene, []]));
  let by: NeighbourFigures["by"] = "library";
  const { rounds, windowMs, maxToolCalls, open } = options;
  for (let round = 0; round < rounds; round++) {
    const runtime = await createRuntime({
      ...{ tools, approvals: { patience: "suspend" }, limits: { maxToolCalls: 1_000_000 } },
      chains: { engines: ["quickjs"], cpuMs: 60_000, limits: { maxToolCalls } },
    });
    try {
      await using neighbour = await open(runtime);
      by = neighbour.by;
      await slice(neighbour, windowMs); // it is warm then
      for (let at = 0; at < scenes.length; at++) {
        const scene = scenes[(at + round) % scenes.length] ?? nothing;
        const begin = await scene.prepare(runtime);
        await quiet();
        windows.get(scene)?.push(await windowBeside(begin, neighbour, windowMs));
      }
    } finally {
      await runtime.close();
    }
  }
  const logs = (scene: Scene): readonly number[] =>
    (windows.get(scene) ?? []).map(({ beside, held }) => Math.log(p99(beside) / p99(held)));
  return scenes.map((scene) => {
    const own = windows.get(scene) ?? [];
    const floors = logs(scene.floor ?? floor);
    return {
      ...{ beside: scene.name, by, calls: own.flatMap(({ beside }) => beside).length },
      p99Microseconds: median(own.map(({ beside }) => p99(beside))),
      heldP99Microseconds: median(own.map(({ held }) => p99(held))),
      ...ratioOf(logs(scene)),
      toFloor: ratioOf(logs(scene).map((log, round) => log - (floors[round] ?? 0))).ratio,
    };
  });
}

type Ratio = Pick<NeighbourFigures, "ratio" | "between">;

/**
 * Hodges and Lehmann's: the middle one of the means of all pairs, which no few bad rounds move, and which needs fewer of them
 * than their middle one does; and between which of these means it lies (Wilcoxon's signed ranks).
 *
 * @param logs of each round's ratio
 */
function ratioOf(logs: readonly number[]): Ratio {
  const means = logs.flatMap((one, i) => logs.slice(i).map((other) => (one + other) / 2)).sort((a, b) => a - b);
  const away = 1.645 * Math.sqrt((logs.length * (logs.length + 1) * (2 * logs.length + 1)) / 24);
  const at = (place: number): string =>
    Math.exp(means[Math.round(Math.min(means.length - 1, Math.max(0, place)))] ?? 0).toFixed(2);
  const middle = (means.length - 1) / 2;
  return { ratio: Math.exp(median(means)), between: `${at(middle - away)} to ${at(middle + away)}` };
}

/** Calls made one after another, each in microseconds. */
interface Window {
  /** While the scene goes on. */
  readonly beside: number[];
  /** While all its processes are held still. */
  readonly held: number[];
}

/** Short, as what else a host does lasts longer: it is in one slice as in the next. */
const sliceMs = 100;
/** In which the host reads what a process said before it was held; calls in it are in neither. */
const drainMs = 50;

/**
 * A slice beside the scene, then one in which its processes are held still, and so on. A scene begins and is stopped in slices of
 * its own, and what is started in place of one that was killed is held with the rest.
 */
async function windowBeside(begin: Begin, neighbour: Neighbour, ms: number): Promise<Window> {
  const all: Window = { beside: [], held: [] };
  const stop = begin();
  let stopped: Promise<unknown> | undefined;
  for (let goneMs = 0; goneMs < ms; goneMs += sliceMs) {
    if (goneMs >= ms / 2) stopped ??= stop(); // what takes its place starts two seconds later at the latest: in this window
    all.beside.push(...(await slice(neighbour, sliceMs)));
    const goOn = holdStarted();
    await slice(neighbour, drainMs);
    all.held.push(...(await slice(neighbour, sliceMs)));
    goOn();
  }
  await (stopped ?? stop());
  return all;
}

async function slice(neighbour: Neighbour, ms: number): Promise<number[]> {
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
