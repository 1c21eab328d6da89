import { narrower } from "../core/authority.ts";
import { RuntimeFault } from "../core/fault.ts";
import { chainLimits, checkedLimits, type Limits } from "../core/session.ts";
import type { EngineSettings } from "../engines/known-engines.ts";
import { usualArgumentBytes, usualArgumentValues } from "../engines/large-arguments.ts";
import type { SandboxDriver } from "../engines/sandbox.ts";

/**
 * Code mode: one script that calls tools (`tool_chain`, `runtime.runChain`).
 *
 * @public
 */
export interface ChainOptions {
  /** Which engines may be used, and in which order they are tried. Default: all that can run here. */
  readonly engines?: readonly string[];
  /** Of one script: 50 calls, 60 s a call, 55 s for a person, 300 s in all, 4096 bytes inline. */
  readonly limits?: Partial<Limits>;
  /** Processor time of a script, in milliseconds. Default 10,000. */
  readonly cpuMs?: number;
  /** Memory of a script, in bytes. Default 128 MiB. */
  readonly memoryBytes?: number;
  /** What it may print and answer, in bytes. Default 1 MiB. */
  readonly outputBytes?: number;
  /** Arguments of one call, in bytes of JSON; a larger value goes by reference (`artifacts.put`). Default 4 MiB. */
  readonly argumentBytes?: number;
  /** Values and names in one call's arguments, and in a script's answer; of names in one object a tenth of it. Default 100,000. */
  readonly argumentValues?: number;
  /** Calls of a script that are under way at the same time; more that are made together wait their turn. Default 16. */
  readonly callsAtOnce?: number;
  /** Engines of your own, tried before Postern's. */
  readonly drivers?: readonly SandboxDriver[];
  /** Of `kubernetes` and `firecracker`, which run where `engines` names them. */
  readonly engineSettings?: EngineSettings;
}

export interface ChainTerms {
  readonly limits: Limits;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly argumentBytes: number;
  readonly argumentValues: number;
  readonly callsAtOnce: number;
}

const mebibyte = 1024 * 1024;
const optionNames: ReadonlySet<string> = new Set([
  "engines",
  "limits",
  "cpuMs",
  "memoryBytes",
  "outputBytes",
  "argumentBytes",
  "argumentValues",
  "callsAtOnce",
  "drivers",
  "engineSettings",
]);

/** @throws RuntimeFault `options_invalid`, or `limits_invalid` */
export function chainTerms(options: ChainOptions): ChainTerms {
  for (const name of Object.keys(options))
    if (!optionNames.has(name))
      throw invalid(`\`chains.${name}\` is no option; there are ${[...optionNames].join(", ")}.`);
  const { cpuMs = 10_000, memoryBytes = 128 * mebibyte, outputBytes = mebibyte } = options;
  const { argumentBytes = usualArgumentBytes, argumentValues = usualArgumentValues, callsAtOnce = 16 } = options;
  const { maxRiskUnapproved: _policy, ...defaults } = chainLimits; // the threshold is set where no level decides
  const bounds = { cpuMs, memoryBytes, outputBytes, argumentBytes, argumentValues, callsAtOnce };
  for (const [name, value] of Object.entries(bounds))
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(`\`chains.${name}\` is ${JSON.stringify(value)}; it must be a whole number from 1.`);
  const limits = checkedLimits({ ...defaults, ...options.limits });
  return { limits, ...bounds };
}

/** What a script gets: its own terms, never more than whoever called it has left. */
export function scriptLimits(
  terms: Limits,
  caller: Limits,
  { remainingMs, timeoutMs }: { readonly remainingMs: number; readonly timeoutMs: number },
): Limits {
  const totalTimeoutMs = Math.max(0, Math.floor(Math.min(terms.totalTimeoutMs, timeoutMs, remainingMs - graceMs)));
  return narrower(narrower(caller, terms), { totalTimeoutMs });
}

/** So much earlier than its caller's own end a script ends, so that it can still say what it did. */
const graceMs = 50;

function invalid(message: string): RuntimeFault {
  return new RuntimeFault("options_invalid", message);
}
