/** What was promised of scripts, what was measured, and what others take: one table. */

import type { PeerFigures } from "./chain-peers.ts";
import type { FrozenFigures, WholeFigures } from "./chain-scenes.ts";

export interface EngineFigures {
  readonly engine: string;
  readonly coldMs: number;
  readonly fiftyCallsMs: number;
  /** Of a script of fifty, and of one of two thousand. */
  readonly callMicroseconds: number;
  readonly longCallMicroseconds: number;
  readonly privateMegabytes: number | undefined;
  readonly imageBytes: number | undefined;
  readonly freezeMs: number | undefined;
  readonly thawMs: number | undefined;
  readonly manyMs: number;
  readonly manyLoopP99Ms: number;
}

export interface AllFigures {
  readonly engines: readonly EngineFigures[];
  readonly whole: readonly WholeFigures[];
  readonly frozen: readonly FrozenFigures[];
  readonly beside: readonly PeerFigures[];
}

interface Line {
  readonly figure: string;
  readonly of: string;
  readonly measured: string;
  readonly bar: string;
  readonly held: string;
}

export function againstBars({ engines, whole, frozen, beside }: AllFigures): readonly Line[] {
  const lines: Line[] = [];
  for (const each of engines) {
    lines.push(
      line("warm 50-call script, engine alone", each.engine, [each.fiftyCallsMs, "ms", 15]),
      line("bridge, a call of 50", each.engine, [each.callMicroseconds, "µs", 150]),
      line("bridge, a call of 2,000", each.engine, [each.longCallMicroseconds, "µs", 150]),
      line("cold engine", each.engine, [each.coldMs, "ms", isPython(each.engine) ? 200 : 120]),
      line("a live script", each.engine, [each.privateMegabytes, "MB", 40]),
      line("thaw", each.engine, [each.thawMs, "ms", 100]),
      line("event loop p99, all scripts at once", each.engine, [each.manyLoopP99Ms, "ms", 50]),
    );
  }
  for (const { engine, aboveMs } of whole)
    lines.push(line("warm 50-call script, above its calls", engine, [aboveMs, "ms", isPython(engine) ? 25 : 15]));
  for (const { engine, frozen: count, bytesEach, processesAbove } of frozen)
    lines.push(
      line(`each of ${count} frozen scripts`, engine, [bytesEach / 1_000, "kB", 150]),
      line(`processes of ${count} frozen scripts`, engine, [processesAbove, "more", 4]),
    );
  for (const { who, fiftyCallsMs, problem } of beside)
    lines.push({
      ...line("50-call script", who, [fiftyCallsMs, "ms"]),
      ...(problem !== undefined && { held: problem }),
    });
  return lines.filter(({ measured }) => measured !== "");
}

/** Its process is new for each script. */
function isPython(engine: string): boolean {
  return /python/i.test(engine);
}

function line(
  figure: string,
  of: string,
  [measured, unit, bar]: readonly [measured: number | undefined, unit: string, bar?: number | undefined],
): Line {
  if (measured === undefined) return { figure, of, measured: "", bar: "", held: "" };
  const held = bar === undefined ? "" : measured <= bar ? "yes" : "NO";
  return {
    figure,
    of,
    measured: `${measured.toFixed(measured < 10 ? 2 : 0)} ${unit}`,
    bar: bar === undefined ? "" : `${bar} ${unit}`,
    held,
  };
}
