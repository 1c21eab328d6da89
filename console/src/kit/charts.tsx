import type { ReactNode } from "react";
import type { Tone } from "./badge.tsx";

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

/** Stacked bars with a baseline, the greatest value and a legend. */
export function Bars({ label, series, bars }: BarsProps): ReactNode {
  const top = Math.max(1, ...bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const wide = 100 / Math.max(1, bars.length);
  return (
    <figure className="grid gap-2">
      <div className="grid gap-1">
        <span className="tabular text-right text-[0.8571rem] leading-none text-ink-3">max {top}</span>
        <svg role="img" aria-label={label} viewBox="0 0 100 40" preserveAspectRatio="none" className="h-28 w-full">
          <line
            x1="0"
            x2="100"
            y1="39.7"
            y2="39.7"
            stroke={fillOf("neutral")}
            strokeWidth="1"
            vectorEffect="non-scaling-stroke"
          />
          {bars.map((bar, at) => (
            <StackedBar
              key={bar.name}
              bar={bar}
              series={series}
              top={top}
              x={at * wide + wide * 0.14}
              width={wide * 0.72}
            />
          ))}
        </svg>
      </div>
      <div className="flex justify-between text-center text-[0.8571rem] leading-tight text-ink-3">
        {bars
          .filter((_, at) => bars.length <= mostNames || at === 0 || at === bars.length - 1)
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

type StackedBarProps = Readonly<{
  bar: Bar;
  series: readonly Series[];
  top: number;
  x: number;
  width: number;
}>;

function StackedBar({ bar, series, top, x, width }: StackedBarProps): ReactNode {
  let y = 39.5;
  const words = series.map(({ name }, at) => `${name} ${bar.values[at] ?? 0}`).join(", ");
  return (
    <g>
      <title>{`${bar.name}: ${words}`}</title>
      <rect x={x} width={width} y="0" height="39.5" fill="transparent" />
      {series.map(({ name, tone }, at) => {
        const height = ((bar.values[at] ?? 0) / top) * 37;
        y -= height;
        return height > 0 && <rect key={name} x={x} y={y} width={width} height={height} fill={fillOf(tone)} />;
      })}
    </g>
  );
}
