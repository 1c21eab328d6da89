import { memo, type ReactNode } from "react";
import type { AuditEventView } from "../../../../src/server/contract/audit.ts";
import { Badge, RiskBadge, type Tone } from "../../kit/badge.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";

const tones = new Map<string, Tone>([
  ["success", "safe"],
  ["failure", "critical"],
  ["suppressed", "medium"],
]);

export function OutcomeBadge({ outcome }: { readonly outcome: string }): ReactNode {
  return <Badge tone={tones.get(outcome) ?? "neutral"}>{outcome}</Badge>;
}

interface EventRowProps {
  readonly event: AuditEventView;
  readonly isChosen: boolean;
  readonly onChoose: (seq: number) => void;
}

/** Drawn again only when it shows something else: `onChoose` is made anew at every render and always does the same for an event. */
export const EventRow = memo(
  function EventRow({ event, isChosen, onChoose }: EventRowProps): ReactNode {
    // What is done by hand is done by a person, whatever it is about.
    const hand = event.type.startsWith("operator.") ? event.decided_by : undefined;
    const who = hand ?? event.principal?.agent;
    return (
      <button
        type="button"
        aria-current={isChosen ? "true" : undefined}
        onClick={() => onChoose(event.seq)}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-0.5 border-b border-line px-4 py-2 text-left -outline-offset-2 hover:bg-hover aria-[current=true]:bg-accent-tint sm:grid-cols-[4.5rem_minmax(0,1fr)_auto]"
      >
        <span className="tabular text-ink-3">#{event.seq}</span>
        <span className="min-w-0 max-sm:order-last max-sm:col-span-2">
          <span className="flex min-w-0 flex-wrap items-center gap-x-2">
            <Text className="mono font-medium">{event.type}</Text>
            {event.risk_level !== undefined && <RiskBadge risk={event.risk_level} />}
            {event.outcome !== "info" && <OutcomeBadge outcome={event.outcome} />}
          </span>
          <span className="block truncate text-ink-2">
            <Text limit={300}>{event.summary}</Text>
          </span>
        </span>
        <span className="flex min-w-0 text-ink-3 max-sm:max-w-[65vw] max-sm:gap-2 sm:flex-col sm:items-end">
          {who !== undefined && (
            <span className="min-w-0 truncate sm:order-last sm:max-w-36">
              <Text>{who}</Text>
            </span>
          )}
          <span className="shrink-0">
            <Time at={event.timestamp} />
          </span>
        </span>
      </button>
    );
  },
  (one, other) => one.event === other.event && one.isChosen === other.isChosen,
);
