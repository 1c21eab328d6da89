import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { type Approval, namesOf, readApproval } from "../../api/approvals.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time, TimeLeft } from "../../kit/time.tsx";
import { AlikeRequests } from "./alike-requests.tsx";
import { FinePrint, Votes, WhyAsked } from "./card-parts.tsx";
import { DecideBar } from "./decide-bar.tsx";
import { ExactArguments } from "./exact-arguments.tsx";
import { useInbox } from "./inbox.ts";
import { PreviewPart } from "./preview-part.tsx";
import { RunSoFar } from "./run-so-far.tsx";

export interface ApprovalCardProps {
  readonly id: string;
  readonly onDecided: (id: string) => void;
  readonly onBack: () => void;
}

/** One request, whole: what will run comes first, then why it is asked, then who asks, then the fine print. */
export function ApprovalCard({ id, onDecided, onBack }: ApprovalCardProps): ReactNode {
  const { approvals, put } = useInbox();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => readApproval(id, signal),
    placeholderData: approvals.find(({ approval_id }) => approval_id === id),
  });
  const changed = useChanged(data);
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  const keep = (fresh: Approval): void => {
    client.setQueryData<Approval>(["approval", id], (old) => ({ ...old, ...fresh }));
    put(fresh);
  };
  return (
    <article aria-label={`Request to run ${data.what.tool}`} className="flex h-full min-h-0 flex-col bg-canvas">
      <Header approval={data} onBack={onBack} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid w-full max-w-4xl gap-4 p-4 lg:p-6">
          {changed.is && (
            <Notice tone="medium">
              This request changed while you looked at it. What you see now is what would run.{" "}
              <button type="button" className="underline" onClick={changed.dismiss}>
                Understood
              </button>
            </Notice>
          )}
          <PreviewPart approval={data} />
          <ExactArguments approval={data} />
          <WhyAsked approval={data} />
          <Votes approval={data} />
          <RunSoFar approval={data} />
          <AlikeRequests approval={data} />
          <FinePrint approval={data} />
        </div>
      </div>
      <DecideBar approval={data} onDecided={onDecided} onFresh={keep} onStale={() => void refetch()} />
    </article>
  );
}

function Header({ approval, onBack }: { readonly approval: Approval; readonly onBack: () => void }): ReactNode {
  const { what, requested_by, status, created_at, expires_at } = approval;
  const { server, name } = namesOf(what.tool);
  return (
    <header className="grid gap-1 border-b border-line bg-surface px-4 py-3 lg:px-6">
      <div className="flex items-center gap-2">
        <Button
          look="plain"
          size="small"
          icon="back"
          aria-label="Back to the list"
          onClick={onBack}
          className="-ml-2 lg:hidden"
        />
        <h2 className="min-w-0 text-[1.2857rem] leading-tight font-semibold tracking-tight">
          <Text>{name}</Text>
          {what.action !== "default" && <Text className="text-ink-2">{` ${what.action}`}</Text>}
        </h2>
        <RiskBadge risk={approval.risk_level} />
        {status !== "pending" && <StateBadge state={status} />}
      </div>
      <p className="text-ink-2">
        <Text className="font-medium text-ink">{requested_by.agent}</Text>
        {requested_by.user !== undefined && (
          <>
            {" for "}
            <Text>{requested_by.user}</Text>
          </>
        )}
        {" asks to run this"}
        {server !== undefined && (
          <>
            {" on the server "}
            <Text className="font-medium text-ink">{server}</Text>
          </>
        )}
        {". Asked "}
        <Time at={created_at} />.
        {status === "pending" && (
          <>
            {" Unanswered, it is denied in "}
            <TimeLeft until={expires_at} />; the tool does not run then.
          </>
        )}
      </p>
    </header>
  );
}

/** Whether what would run is another than when the card was opened. */
function useChanged(approval: Approval | undefined): { readonly is: boolean; readonly dismiss: () => void } {
  const first = useRef<string>(undefined);
  const [is, setIs] = useState(false);
  const now = approval?.status === "pending" ? approval.binding : undefined;
  useEffect(() => {
    if (now === undefined) return;
    if (first.current !== undefined && first.current !== now) setIs(true);
    first.current = now;
  }, [now]);
  return { is, dismiss: () => setIs(false) };
}
