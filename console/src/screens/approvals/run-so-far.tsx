import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Approval } from "../../api/approvals.ts";
import { get } from "../../api/client.ts";
import { StateBadge } from "../../kit/badge.tsx";
import { Card } from "../../kit/card.tsx";
import { NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { ProgressLine } from "../progress-line.tsx";

interface PastCall {
  readonly call_id: string;
  readonly state: string;
  readonly tool: string;
  readonly action: string;
  readonly arrived_at: string;
}

/** The same call over and over is one line. */
interface Past extends PastCall {
  readonly times: number;
}

const mostRead = 40;
const mostShown = 8;

/** What this run did before it asked, and does meanwhile: a request is judged by its company. */
export function RunSoFar({ approval }: { readonly approval: Approval }): ReactNode {
  const { run } = approval.refs;
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "run-so-far", run],
    queryFn: ({ signal }) =>
      get<{ readonly calls: readonly PastCall[] }>(`/v1/runs/${encodeURIComponent(run)}/timeline`, {
        query: { limit: mostRead },
        signal,
      }),
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
        <PastCalls past={together(data.calls)} />
      )}
    </Card>
  );
}

function PastCalls({ past }: { readonly past: readonly Past[] }): ReactNode {
  if (past.length === 0) return <p className="px-4 py-3 text-ink-2">Nothing else: this is its first call.</p>;
  return (
    <ol className="grid">
      {past.slice(0, mostShown).map(({ call_id, tool, action, state, arrived_at, times }) => (
        <li key={call_id} className="grid gap-1 border-b border-line px-4 py-1.5 last:border-0">
          <div className="flex items-center justify-between gap-3">
            <span className="min-w-0 truncate">
              <Text>{tool}</Text>
              {action !== "default" && <Text className="text-ink-2">{` ${action}`}</Text>}
              {times > 1 && <span className="tabular text-ink-2"> {times} times</span>}
            </span>
            <span className="flex shrink-0 items-center gap-2 text-ink-3">
              <Time at={arrived_at} />
              <StateBadge state={state} />
            </span>
          </div>
          {state === "attempted" && <ProgressLine callId={call_id} tool={tool} />}
        </li>
      ))}
    </ol>
  );
}

/** New to old. What waits itself did nothing yet. */
function together(calls: readonly PastCall[]): readonly Past[] {
  const found: Past[] = [];
  for (const call of calls) {
    if (call.state === "held") continue;
    const last = found.at(-1);
    const isSame = last?.tool === call.tool && last.action === call.action && last.state === call.state;
    if (last !== undefined && isSame && call.state !== "attempted")
      found[found.length - 1] = { ...last, times: last.times + 1 };
    else found.push({ ...call, times: 1 });
  }
  return found;
}
