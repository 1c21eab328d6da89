import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AuditEventView } from "../../../../src/server/contract/audit.ts";
import { ask, useMay } from "../../api/index.ts";
import { Bars, Card, counted, duration, EmptyState } from "../../kit/index.ts";

const steps: readonly (readonly [name: string, belowMs: number])[] = [
  ["< 10\u00a0s", 10_000],
  ["< 1\u00a0min", 60_000],
  ["< 5\u00a0min", 300_000],
  ["< 30\u00a0min", 1_800_000],
  ["longer", Number.POSITIVE_INFINITY],
];

/** Decisions of a person that end a request. */
const decisions: ReadonlySet<string> = new Set(["gate.approved", "gate.denied", "gate.modified", "gate.skipped"]);

/** How long agents waited for the latest decisions, from the audit log. */
export function WaitingTimes(): ReactNode {
  const mayRead = useMay()("audit:read");
  const { data } = useQuery({
    queryKey: ["live", "decided-times"],
    queryFn: ({ signal }) =>
      ask("GET /v1/audit/latest", { type: ["gate.required", ...decisions].join(","), limit: 400 }, signal),
    enabled: mayRead,
  });
  const waits = waitsIn(data?.events ?? []).sort((a, b) => a - b);
  const median = waits[Math.floor(waits.length / 2)];
  const counts = steps.map(
    ([, belowMs], at) => waits.filter((ms) => ms >= (steps[at - 1]?.[1] ?? 0) && ms < belowMs).length,
  );
  return (
    <Card title="How long decisions take">
      <div className="grid gap-2 px-4 py-3">
        {median === undefined ? (
          <EmptyState icon="clock" title={mayRead ? "No decisions yet" : "Only auditors can read this"} />
        ) : (
          <>
            <p>
              Half of {counted(waits.length, "decision")} came within{" "}
              <strong className="tabular font-semibold">{duration(median)}</strong>.
            </p>
            <Bars
              label={`Waiting times: ${steps.map(([name], at) => `${name}: ${counts[at]}`).join(", ")}`}
              series={[{ name: "requests", tone: "accent" }]}
              bars={steps.map(([name], at) => ({ name, values: [counts[at] ?? 0] }))}
              names
            />
          </>
        )}
      </div>
    </Card>
  );
}

/** @param events new to old: a decision comes before its request */
function waitsIn(events: readonly AuditEventView[]): number[] {
  const decidedAt = new Map<string, number>();
  return events.flatMap(({ type, timestamp, refs: { approval = "" } }) => {
    const at = Date.parse(timestamp);
    const end = decidedAt.get(approval);
    if (type === "gate.required") return end === undefined ? [] : [end - at];
    if (decisions.has(type)) decidedAt.set(approval, at);
    return [];
  });
}
