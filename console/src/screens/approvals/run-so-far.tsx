import type { ReactNode } from "react";
import { type ApprovalView, useAnswer } from "../../api/index.ts";
import { Card, NotYet, RiskBadge, StateBadge, TextLink, Time, ToolName } from "../../kit/index.ts";
import { ProgressLine } from "../progress-line.tsx";
import { pastOf } from "./past-calls.ts";

/** Only the newest are read; the run's own page has the others. */
const limit = 200;

/** What the run did before it asked, and does meanwhile. */
export function RunSoFar({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const id = approval.refs.run;
  const { data, error, refetch } = useAnswer("GET /v1/runs/{id}/timeline", { id, limit });
  const to = `/runs/${encodeURIComponent(id)}`;
  return (
    <Card title="What this run did before" actions={<TextLink to={to}>Open the run</TextLink>}>
      {data === undefined ? (
        <NotYet error={error} again={refetch} rows={2} />
      ) : (
        <PastCalls past={pastOf(data.calls)} to={to} isAll={data.next_before === undefined} />
      )}
    </Card>
  );
}

type PastCallsProps = Readonly<{ past: ReturnType<typeof pastOf>; to: string; isAll: boolean }>;

function PastCalls({ past: { shown, more }, to, isAll }: PastCallsProps): ReactNode {
  if (shown.length === 0 && isAll) return <p className="px-4 py-3 text-ink-2">Nothing else: this is its first call.</p>;
  return (
    <ol className="grid">
      {shown.map(({ call_id, tool, action, state, risk_level: risk, arrived_at, times }) => (
        <li key={call_id} className="grid gap-1 border-b border-line px-4 py-1.5 last:border-0">
          <div className="flex items-center justify-between gap-3">
            <span className="min-w-0 truncate">
              <ToolName tool={tool} action={action} />
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
          <TextLink to={to}>{isAll ? `and ${more} more` : `and more than ${more} more`}</TextLink>
          {", none of them riskier than these or with a worse end"}
          {!isAll && ", as far as they were read"}.
        </li>
      )}
    </ol>
  );
}
