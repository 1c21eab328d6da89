import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { type ApprovalView, namesOf, readApproval } from "../../api/approvals.ts";
import { doubtText } from "../../api/checked.ts";
import { Problem } from "../../api/problem.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time, TimeLeft } from "../../kit/time.tsx";
import { useIsOver } from "../../kit/use-now.ts";
import { AlikeRequests } from "./alike-requests.tsx";
import { FinePrint, Votes, WhyAsked } from "./card-parts.tsx";
import { ChangedNotice } from "./changed-notice.tsx";
import { DecideBar } from "./decide-bar.tsx";
import { ExactArguments } from "./exact-arguments.tsx";
import { useInbox } from "./inbox.ts";
import { PreviewPart } from "./preview-part.tsx";
import { RunSoFar } from "./run-so-far.tsx";
import { useAcknowledged } from "./use-acknowledged.ts";
import { useDoubts } from "./use-doubts.ts";

export interface ApprovalCardProps {
  readonly id: string;
  /** It came in the place of one that was decided: it has the keyboard, and is said. */
  readonly isNext: boolean;
  readonly onDecided: (id: string) => void;
  readonly onBack: () => void;
}

/** One request, whole: what will run comes first, then why it is asked, then who asks, then the fine print. */
export function ApprovalCard({ id, isNext, onDecided, onBack }: ApprovalCardProps): ReactNode {
  const { approvals, put } = useInbox();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => readApproval(id, signal),
    placeholderData: approvals.find(({ approval_id }) => approval_id === id),
  });
  const { meant, isChanged, acknowledge } = useAcknowledged(data);
  const doubts = useDoubts(data);
  const article = useRef<HTMLElement>(null);
  const isThere = data !== undefined;
  useEffect(() => {
    if (isNext && isThere) article.current?.focus({ preventScroll: true });
  }, [isNext, isThere]);
  if (error instanceof Problem && error.code === "approval_unknown") return <Nowhere id={id} onBack={onBack} />;
  if (data === undefined || meant === undefined) return <NotYet error={error} again={refetch} />;
  const keep = (fresh: ApprovalView): void => {
    client.setQueryData<ApprovalView>(["approval", id], (old) => ({ ...besides(old), ...fresh }));
    put(fresh);
  };
  const said = (fresh: ApprovalView): void => {
    keep(fresh);
    acknowledge(fresh); // their own edit is no news to them
    if (fresh.status !== "pending") onDecided(id);
  };
  const changed = isChanged ? (
    <ChangedNotice before={meant} now={data} onUnderstood={() => acknowledge(data)} />
  ) : undefined;
  return (
    <article
      ref={article}
      tabIndex={-1}
      aria-label={`Request to run ${data.what.tool}`}
      className="flex h-full min-h-0 flex-col bg-canvas outline-none"
    >
      <Header approval={data} onBack={onBack} />
      {changed !== undefined && (
        <div className="max-h-[40dvh] shrink-0 overflow-y-auto px-4 pt-4 lg:px-6">{changed}</div>
      )}
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid w-full max-w-4xl gap-4 p-4 lg:p-6">
          <PreviewPart approval={data} />
          <ExactArguments approval={data} doubts={doubts} />
          <WhyAsked approval={data} />
          <Votes approval={data} />
          <RunSoFar approval={data} />
          <AlikeRequests approval={data} />
          <FinePrint approval={data} />
        </div>
      </div>
      <DecideBar
        approval={data}
        meant={meant}
        changed={changed}
        doubt={doubtText(doubts)}
        onSaid={said}
        onFresh={keep}
        onStale={() => void refetch()}
      />
    </article>
  );
}

/** What an answer to a decision may leave out. All else of it that is not there is not there any more. */
function besides({ input_schema, viewer }: Partial<ApprovalView> = {}): Partial<ApprovalView> {
  return { ...(input_schema && { input_schema }), ...(viewer && { viewer }) };
}

function Unanswered({ until }: { readonly until: string }): ReactNode {
  if (useIsOver(until)) return " Its time is over: nobody can approve it any more, and the tool does not run.";
  return (
    <>
      {" Unanswered, it is denied in "}
      <TimeLeft until={until} />; the tool does not run then.
    </>
  );
}

/** Asking again would not bring it back. */
function Nowhere({ id, onBack }: Pick<ApprovalCardProps, "id" | "onBack">): ReactNode {
  return (
    <div role="alert">
      <EmptyState icon="warning" title="There is no approval of this name">
        <Text className="mono">{id}</Text>
      </EmptyState>
      <p className="text-center">
        <Button onClick={onBack}>All approvals</Button>
      </p>
    </div>
  );
}

function Header({ approval, onBack }: { readonly approval: ApprovalView; readonly onBack: () => void }): ReactNode {
  const { what, requested_by, status, created_at, expires_at, routed } = approval;
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
        {status === "pending" && routed.quorum > 1 && `; ${routed.quorum} people must agree`}
        {". Asked "}
        <Time at={created_at} />.{status === "pending" && <Unanswered until={expires_at} />}
      </p>
    </header>
  );
}
