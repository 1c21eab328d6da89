/**
 * The memory every script begins with: an engine that has compiled the prelude and been told which tools there are, and has
 * run nothing else. It is made once and copied for each script, so that a script pays for a copy and not for a beginning.
 *
 * Invariant: the same engine and the same setting give the same bytes wherever they are made. Images are compressed against
 * them, and nothing of a script is ever in them.
 */
import { EvalFlags, type ExtensionDescriptor, QuickJS, type Snapshot, type WasiOptions } from "quickjs-wasi";
import type { Slots } from "./image.ts";
import type { ScriptClock } from "./script-clock.ts";

export interface Template {
  readonly snapshot: Snapshot;
  readonly slots: Slots;
}

/** The engine, and what it is loaded with: `URL`, `TextEncoder` and `structuredClone` are native code of its package. */
export interface EngineModules {
  readonly wasm: WebAssembly.Module;
  readonly extensions: ExtensionDescriptor[];
}

/** An engine with the prelude compiled, before it knows of any tool. */
export interface Blank {
  readonly engine: EngineModules;
  readonly snapshot: Snapshot;
  readonly prelude: number;
}

/** For names and their functions; what a script may use is its own limit. */
const templateBytes = 256 * 1024 * 1024;

/** @param source the prelude (prelude.ts) */
export async function blank(engine: EngineModules, source: string): Promise<Blank> {
  const vm = await QuickJS.create({ ...engine, memoryLimit: templateBytes, timezoneOffset: 0, wasi: noTime });
  const prelude = vm.exportHandle(vm.evalCode(source, "postern:prelude", EvalFlags.TYPE_GLOBAL));
  return { engine, snapshot: vm.snapshot(), prelude };
}

/** @param setting what the prelude is told: names and the length of output, as JSON */
export async function furnished({ engine, snapshot, prelude }: Blank, setting: string): Promise<Template> {
  const vm = await QuickJS.restore(snapshot, {
    ...engine,
    memoryLimit: templateBytes,
    timezoneOffset: 0,
    wasi: noTime,
  });
  const made = vm.importHandle(prelude).consume((make) => vm.callFunction(make, vm.undefined, vm.newString(setting)));
  const place = (name: string): number => vm.exportHandle(made.getProp(name));
  const ends = { tick: place("tick"), follow: place("follow"), begin: place("begin"), notice: place("notice") };
  const slots = { settle: place("settle"), drain: place("drain"), ...ends };
  vm.runGC();
  return { snapshot: vm.snapshot(), slots };
}

/** What images are compressed against. */
export async function baseOf(from: Blank): Promise<Snapshot> {
  return (await furnished(from, JSON.stringify({ names: "", aliases: "", outputBytes: 0, argumentBytes: 0 }))).snapshot;
}

const notSupported = 52;

export function told(clock: ScriptClock): WasiOptions {
  return (memory) => withClock(memory, () => clock.look());
}

/** A template knows no time: the engine makes its random numbers of it. */
const noTime: WasiOptions = (memory) => withClock(memory, () => 1n);

function withClock(memory: WebAssembly.Memory, nanoseconds: () => bigint): ReturnType<WasiOptions> {
  return {
    clock_time_get: (_clock: number, _precision: bigint, at: number) => {
      new DataView(memory.buffer).setBigUint64(at, nanoseconds(), true);
      return 0;
    },
    fd_write: () => notSupported, // the pipe to the host is no console of the engine
    random_get: () => notSupported,
  };
}
