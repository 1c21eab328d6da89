import { RuntimeFault } from "@postern/core";
import { type SandboxDriver, usualArgumentBytes, usualArgumentValues } from "@postern/core/sandbox";
import type { EngineSettings } from "@postern/engines";
import { narrower } from "../call/authority.ts";
import { chainLimits, checkedLimits, type Limits } from "../call/session.ts";

/**
 * Code mode: one script that calls tools (`tool_chain`, `runtime.runChain`).
 *
 * @public
 */
export interface ChainOptions {
  /** The engines that may be used, in the order in which they are tried. Default: all that can run here. */
  readonly engines?: readonly string[];
  /** Limits of one script. Default: 50 calls, 60 s a call, 55 s for a person, 300 s in all, 4096 bytes inline. */
  readonly limits?: Partial<Limits>;
  /** Processor time of a script, in milliseconds. Default 10,000. */
  readonly cpuMs?: number;
  /** Memory of a script, in bytes. Default 128 MiB. */
  readonly memoryBytes?: number;
  /** The most bytes that it prints, and the most that it returns. Default 1 MiB. */
  readonly outputBytes?: number;
  /** Arguments of one call, in bytes of JSON; a larger value goes by reference (`artifacts.put`). Default 4 MiB. */
  readonly argumentBytes?: number;
  /** Values and names in one call's arguments, and in a script's answer; of names in one object a tenth of it. Default 100,000. */
  readonly argumentValues?: number;
  /** Calls of a script that run at the same time; the others wait. Default 16. */
  readonly callsAtOnce?: number;
  /** Engines of your own, tried before Postern's. */
  readonly drivers?: readonly SandboxDriver[];
  /** Settings of `kubernetes`, `firecracker` and `qemu`, which are used only if `engines` names them. */
  readonly engineSettings?: EngineSettings;
}

const mebibyte = 1024 * 1024;
const defaultBounds = {
  cpuMs: 10_000,
  memoryBytes: 128 * mebibyte,
  outputBytes: mebibyte,
  argumentBytes: usualArgumentBytes,
  argumentValues: usualArgumentValues,
  callsAtOnce: 16,
};

export interface ChainTerms extends Readonly<typeof defaultBounds> {
  readonly limits: Limits;
}

/** @throws RuntimeFault `options_invalid` */
export function chainTerms(options: ChainOptions): ChainTerms {
  const { engines: _engines, limits: own, drivers: _drivers, engineSettings: _settings, ...given } = options;
  const names = [...Object.keys(defaultBounds), "engines", "limits", "drivers", "engineSettings"];
  for (const name of Object.keys(given))
    if (!names.includes(name)) throw invalid(`\`chains.${name}\` is not an option; there are ${names.join(", ")}.`);
  const { maxRiskUnapproved: _policy, ...defaults } = chainLimits; // the threshold is set only if no level decides
  const bounds = { ...defaultBounds, ...given };
  for (const [name, value] of Object.entries(bounds))
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(`\`chains.${name}\` is ${JSON.stringify(value)}; it must be a whole number from 1.`);
  return { limits: checkedLimits({ ...defaults, ...own }), ...bounds };
}

/** The limits of a script: its own, but no more than its caller has left. */
export function scriptLimits(
  terms: Limits,
  caller: Limits,
  { remainingMs, timeoutMs }: { readonly remainingMs: number; readonly timeoutMs: number },
): Limits {
  const totalTimeoutMs = Math.max(0, Math.floor(Math.min(terms.totalTimeoutMs, timeoutMs, remainingMs - graceMs)));
  return narrower(narrower(caller, terms), { totalTimeoutMs });
}

/** A script ends this long before its caller's time, so that it can report what it did. */
const graceMs = 50;

function invalid(message: string): RuntimeFault {
  return new RuntimeFault("options_invalid", message);
}
