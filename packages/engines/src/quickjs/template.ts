/**
 * The memory that every script starts with: an engine that has compiled the prelude and knows the tools. It is made once and
 * copied for each script.
 *
 * Invariant: the same engine and setting give the same bytes on every machine. Images are differences from them, and they
 * hold nothing of a script.
 */
import { EvalFlags, type ExtensionDescriptor, QuickJS, type Snapshot, type WasiOptions } from "quickjs-wasi";
import { type Slots, slotsOf } from "./image.ts";

export interface Template {
  readonly snapshot: Snapshot;
  readonly slots: Slots;
}

/** The engine and its extensions: `URL`, `TextEncoder` and `structuredClone`. */
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

/** The memory limit while a template is made; a script has its own. */
const templateBytes = 256 * 1024 * 1024;
/** A template has no time, because the engine makes random numbers from it. */
const options = { memoryLimit: templateBytes, timezoneOffset: 0, wasi: imports(() => 1n) };

/** @param source the prelude (prelude.ts) */
export async function blank(engine: EngineModules, source: string): Promise<Blank> {
  const vm = await QuickJS.create({ ...engine, ...options });
  const prelude = vm.exportHandle(vm.evalCode(source, "postern:prelude", EvalFlags.TYPE_GLOBAL));
  return { engine, snapshot: vm.snapshot(), prelude };
}

/** @param setting the names of tools and the limits, as JSON */
export async function withSetting({ engine, snapshot, prelude }: Blank, setting: string): Promise<Template> {
  const vm = await QuickJS.restore(snapshot, { ...engine, ...options });
  const made = vm.importHandle(prelude).consume((make) => vm.callFunction(make, vm.undefined, vm.newString(setting)));
  const slots = slotsOf((name) => vm.exportHandle(made.getProp(name)));
  vm.runGC();
  return { snapshot: vm.snapshot(), slots };
}

/** The memory from which images take the difference. */
export async function baseOf(from: Blank): Promise<Snapshot> {
  return (await withSetting(from, JSON.stringify({ names: "", outputBytes: 0, argumentBytes: 0 }))).snapshot;
}

const notSupported = 52;

/** The functions that the engine imports: a clock, and errors. */
export function imports(nanoseconds: () => bigint): WasiOptions {
  return (memory) => ({
    clock_time_get: (_clock: number, _precision: bigint, at: number) => {
      new DataView(memory.buffer).setBigUint64(at, nanoseconds(), true);
      return 0;
    },
    fd_write: () => notSupported, // the engine must not write into the pipe
    random_get: () => notSupported,
  });
}
