import type { TimelineCall } from "@postern/core/contract";
import type { ReactNode } from "react";
import { type ApprovalView, useAnswer } from "../../api/index.ts";
import { Card, NotYet, number, RiskBadge, StateBadge, TextLink, Time, ToolName } from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { ProgressLine } from "../progress-line.tsx";
import { pastOf } from "./past-calls.ts";

/** Only the newest are read; the run's own page has the others. */
const limit = 200;

/** What the run did before it asked, and does meanwhile. */
export function RunSoFar({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const id = approval.refs.run;
  const { data, error, refetch } = useAnswer("GET /v1/runs/{id}/timeline", { id, limit });
  return (
    <Card
      title="What this run did before"
      actions={
        <span className="flex flex-wrap items-center justify-end gap-2">
          <BrakeButton kind="agent" name={approval.requested_by.agent} />
          <BrakeButton kind="run" name={id} />
          <TextLink to="/runs/{-$run}" params={{ run: id }}>
            Open the run
          </TextLink>
        </span>
      }
    >
      {data === undefined ? (
        <NotYet error={error} again={refetch} rows={2} />
      ) : (
        <PastCalls
          past={pastOf(data.calls.filter((call) => isBefore(call, approval)))}
          run={id}
          isAll={data.next_before === undefined}
        />
      )}
    </Card>
  );
}

/** Neither its own call, nor what came after the decision. */
function isBefore({ approval, arrived_at }: TimelineCall, { approval_id, decision }: ApprovalView): boolean {
  return approval?.approval_id !== approval_id && (decision === undefined || arrived_at < decision.at);
}

type PastCallsProps = Readonly<{ past: ReturnType<typeof pastOf>; run: string; isAll: boolean }>;

function PastCalls({ past: { shown, more }, run, isAll }: PastCallsProps): ReactNode {
  if (shown.length === 0)
    return (
      <p className="px-4 py-3 text-ink-2">
        {isAll ? "Nothing: no other call of it ran." : `None of its latest ${limit} calls ran.`}
      </p>
    );
  return (
    <ol className="grid">
      {shown.map(({ call_id, tool, action, state, risk_level: risk, arrived_at, times }) => (
        <li key={call_id} className="grid gap-1 border-b border-line px-4 py-1.5 last:border-0">
          <div className="flex items-center justify-between gap-3">
            <span className="min-w-0 truncate">
              <ToolName tool={tool} action={action} />
              {times > 1 && <span className="tabular text-ink-2"> {number(times)} times</span>}
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
          <TextLink to="/runs/{-$run}" params={{ run }}>
            {more > 0 ? `and ${number(more)} more` : "and earlier ones"}
          </TextLink>
          {more > 0 && ", none of them riskier than these or with a worse end"}.
          {!isAll && ` Only the latest ${limit} are read.`}
        </li>
      )}
    </ol>
  );
}
