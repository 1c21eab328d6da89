import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { Card } from "../../kit/card.tsx";
import { Bars } from "../../kit/charts.tsx";
import { EmptyState } from "../../kit/states.tsx";
import { duration } from "../../kit/time.tsx";

const steps: readonly { readonly name: string; readonly belowMs: number }[] = [
  { name: "< 10\u00a0s", belowMs: 10_000 },
  { name: "< 1\u00a0min", belowMs: 60_000 },
  { name: "< 5\u00a0min", belowMs: 300_000 },
  { name: "< 30\u00a0min", belowMs: 1_800_000 },
  { name: "longer", belowMs: Number.POSITIVE_INFINITY },
];

/** What a person says that ends a request. */
const answers: ReadonlySet<string> = new Set(["gate.approved", "gate.denied", "gate.modified", "gate.skipped"]);

interface GateEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly refs: { readonly approval?: string };
}

/** How long agents waited for people: of the latest requests that somebody answered, as the audit log has them. */
export function WaitingTimes(): ReactNode {
  const may = useMay();
  const { data } = useQuery({
    queryKey: ["live", "answered"],
    queryFn: ({ signal }) =>
      get<{ readonly events: readonly GateEvent[] }>("/v1/audit/latest", {
        query: { type: ["gate.required", ...answers].join(","), limit: 400 },
        signal,
      }),
    enabled: may("audit:read"),
  });
  const waited = waits(data?.events ?? []);
  const sorted = [...waited].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  return (
    <Card title="How long people take">
      <div className="grid gap-2 px-4 py-3">
        {median === undefined ? (
          <EmptyState
            icon="clock"
            title={may("audit:read") ? "Nobody has decided yet" : "This is read from the audit log, by auditors"}
          />
        ) : (
          <>
            <p>
              Half of {waited.length} {waited.length === 1 ? "answer" : "answers"} came within{" "}
              <strong className="tabular font-semibold">{duration(median)}</strong>.
            </p>
            <Bars
              label={`Waiting times: ${steps.map(({ name }, at) => `${name}: ${count(waited, at)}`).join(", ")}`}
              series={[{ name: "requests", tone: "accent" }]}
              bars={steps.map(({ name }, at) => ({ name, values: [count(waited, at)] }))}
              names
            />
          </>
        )}
      </div>
    </Card>
  );
}

/** New to old: an answer comes before its question. What only expired is no answer. */
function waits(events: readonly GateEvent[]): readonly number[] {
  const answered = new Map<string, number>();
  return events.flatMap(({ type, timestamp, refs: { approval = "" } }) => {
    const at = Date.parse(timestamp);
    const end = answered.get(approval);
    if (type === "gate.required") return end === undefined ? [] : [end - at];
    if (answers.has(type)) answered.set(approval, at);
    return [];
  });
}

function count(waited: readonly number[], at: number): number {
  const above = steps[at - 1]?.belowMs ?? 0;
  const below = steps[at]?.belowMs ?? 0;
  return waited.filter((ms) => ms >= above && ms < below).length;
}
