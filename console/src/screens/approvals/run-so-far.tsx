import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { get } from "../../api/client.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { Card } from "../../kit/card.tsx";
import { NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { ProgressLine } from "../progress-line.tsx";
import { type PastCall, pastOf, type Told } from "./past-calls.ts";

/** Newer ones; what is older stands in the run. */
const mostRead = 200;

/** What this run did before it asked, and does meanwhile: a request is judged by its company. */
export function RunSoFar({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { run } = approval.refs;
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "run-so-far", run],
    queryFn: ({ signal }) =>
      get<{ readonly calls: readonly PastCall[]; readonly next_before?: string }>(
        `/v1/runs/${encodeURIComponent(run)}/timeline`,
        {
          query: { limit: mostRead },
          signal,
        },
      ),
  });
  return (
    <Card
      title="What this run did before"
      actions={
        <Link to="/runs/$id" params={{ id: run }} className="text-accent hover:underline">
          Open the run
        </Link>
      }
    >
      {data === undefined ? (
        <NotYet error={error} again={refetch} rows={2} />
      ) : (
        <PastCalls past={pastOf(data.calls)} run={run} isAll={data.next_before === undefined} />
      )}
    </Card>
  );
}

function PastCalls({
  past: { shown, more },
  run,
  isAll,
}: {
  readonly past: Told;
  readonly run: string;
  readonly isAll: boolean;
}): ReactNode {
  if (shown.length === 0 && isAll) return <p className="px-4 py-3 text-ink-2">Nothing else: this is its first call.</p>;
  return (
    <ol className="grid">
      {shown.map(({ call_id, tool, action, state, risk_level: risk, arrived_at, times }) => (
        <li key={call_id} className="grid gap-1 border-b border-line px-4 py-1.5 last:border-0">
          <div className="flex items-center justify-between gap-3">
            <span className="min-w-0 truncate">
              <Text>{tool}</Text>
              {action !== "default" && <Text className="text-ink-2">{` ${action}`}</Text>}
              {times > 1 && <span className="tabular text-ink-2"> {times} times</span>}
            </span>
            <span className="flex shrink-0 items-center gap-2 text-ink-3">
              {risk !== undefined && risk !== "safe" && <RiskBadge risk={risk} />}
              <Time at={arrived_at} />
              <StateBadge state={state} />
            </span>
          </div>
          {state === "attempted" && <ProgressLine callId={call_id} tool={tool} />}
        </li>
      ))}
      {(more > 0 || !isAll) && (
        <li className="px-4 py-1.5 text-ink-2">
          <Link to="/runs/$id" params={{ id: run }} className="text-accent hover:underline">
            {isAll ? `and ${more} more` : `and more than ${more} more`}
          </Link>
          {", none of them riskier than these or worse ended"}
          {!isAll && ", as far as they were read"}.
        </li>
      )}
    </ol>
  );
}
