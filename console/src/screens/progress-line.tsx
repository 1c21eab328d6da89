import type { ReactNode } from "react";
import { classNames, Text } from "../kit/index.ts";
import { useProgress } from "../live/progress.ts";

type ProgressLineProps = Readonly<{ callId: string; tool: string; className?: string }>;

/** The last progress message of a running call. Nothing when there is none. */
export function ProgressLine({ callId, tool, className }: ProgressLineProps): ReactNode {
  const progress = useProgress(callId);
  if (progress === undefined) return null;
  const { text, fraction } = progress;
  const percent = fraction === undefined ? undefined : Math.floor(fraction * 100);
  return (
    <div className={classNames("flex min-w-0 items-center gap-2 text-[0.8571rem] text-ink-2", className)}>
      <div
        role="progressbar"
        aria-label={`Progress of ${tool}`}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={text}
        className="h-1.5 w-28 shrink-0 overflow-hidden rounded-full bg-line"
      >
        {percent === undefined ? (
          <div className="h-full w-full animate-breathe bg-accent" />
        ) : (
          <div className="h-full rounded-full bg-accent transition-[width]" style={{ width: `${percent}%` }} />
        )}
      </div>
      {percent !== undefined && <span className="tabular w-[2.4rem] shrink-0 text-right">{percent} %</span>}
      <Text className="min-w-0 truncate" limit={300}>
        {text}
      </Text>
    </div>
  );
}
