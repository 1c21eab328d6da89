import { type PointerEvent, type ReactNode, useState } from "react";
import type { Tone } from "./badge.tsx";
import { number } from "./format.ts";

const fillOf = (tone: Tone): string => `var(--color-${tone === "neutral" ? "line-strong" : tone})`;

export interface Series {
  readonly name: string;
  readonly tone: Tone;
}

export interface Bar {
  readonly name: string;
  /** One number a series, in their order. */
  readonly values: readonly number[];
}

type BarsProps = Readonly<{
  label: string;
  series: readonly Series[];
  bars: readonly Bar[];
}>;

/** With more bars, only the names of the first and the last one are shown. */
const mostNames = 10;

/**
 * Stacked bars with a baseline, the greatest value and a legend. The pointer, a finger or the arrow keys choose a bar,
 * whose numbers are then above: an invisible slider over the bars, which screen readers read too.
 */
export function Bars({ label, series, bars }: BarsProps): ReactNode {
  const [chosen, setChosen] = useState<number>();
  const top = Math.max(1, ...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const wide = 100 / Math.max(1, bars.length);
  const last = bars.length - 1;
  const words = (at: number): string => {
    const counts = series
      .map(({ name }, i) => [name, bars[at]?.values[i] ?? 0] as const)
      .filter(([, count]) => count > 0);
    return `${bars[at]?.name}: ${counts.map(([name, count]) => `${name} ${count}`).join(", ") || "none"}`;
  };
  const point = ({ currentTarget, clientX }: PointerEvent<HTMLInputElement>): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setChosen(Math.max(0, Math.min(last, Math.floor(((clientX - left) / width) * bars.length))));
  };
  return (
    <figure className="grid gap-2">
      <div className="grid gap-1">
        <span className="tabular flex justify-between gap-3 text-[0.8571rem] leading-none text-ink-3">
          <span className="text-ink">{chosen !== undefined && words(chosen)}</span>
          <span>max {number(top)}</span>
        </span>
        <div className="relative rounded has-focus-visible:outline-2 has-focus-visible:outline-accent">
          <svg aria-hidden="true" viewBox="0 0 100 40" preserveAspectRatio="none" className="h-28 w-full">
            <line
              x1="0"
              x2="100"
              y1="39.7"
              y2="39.7"
              stroke={fillOf("neutral")}
              strokeWidth="1"
              vectorEffect="non-scaling-stroke"
            />
            {chosen !== undefined && (
              <rect x={chosen * wide} width={wide} y="0" height="39.5" fill="var(--color-hover)" />
            )}
            {bars.map(({ name, values }, at) =>
              stacked(values).map(([y, height], i) => (
                <rect
                  key={`${name} ${series[i]?.name}`}
                  x={(at + 0.14) * wide}
                  width={wide * 0.72}
                  y={39.5 - (y / top) * 37}
                  height={(height / top) * 37}
                  fill={fillOf(series[i]?.tone ?? "neutral")}
                />
              )),
            )}
          </svg>
          <input
            type="range"
            aria-label={label}
            aria-valuetext={words(chosen ?? last)}
            max={last}
            value={chosen ?? last}
            onChange={({ target }) => setChosen(Number(target.value))}
            onFocus={() => setChosen(chosen ?? last)}
            onBlur={() => setChosen(undefined)}
            onPointerMove={point}
            onPointerLeave={() => setChosen(undefined)}
            className="absolute inset-0 size-full opacity-0"
          />
        </div>
      </div>
      <div className="flex justify-between text-center text-[0.8571rem] leading-tight text-ink-3">
        {bars
          .filter((_, at) => bars.length <= mostNames || at === 0 || at === last)
          .map(({ name }) => (
            <span key={name} className={bars.length <= mostNames ? "min-w-0 flex-1 px-0.5" : undefined}>
              {name}
            </span>
          ))}
      </div>
      {series.length > 1 && (
        <figcaption className="flex flex-wrap gap-x-4 gap-y-1 text-ink-2">
          {series.map(({ name, tone }) => (
            <span key={name} className="inline-flex items-center gap-1.5">
              <svg aria-hidden="true" viewBox="0 0 8 8" className="size-2">
                <rect width="8" height="8" rx="2" fill={fillOf(tone)} />
              </svg>
              {name}
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  );
}

/** The upper end and the height of each value. */
function stacked(values: readonly number[]): readonly (readonly [end: number, height: number])[] {
  let end = 0;
  return values.map((height) => {
    end += height;
    return [end, height];
  });
}
