import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import {
  type ApprovalView,
  idOf,
  isAlike,
  mayDecide,
  mismatchText,
  namesOf,
  Problem,
  readApproval,
} from "../../api/index.ts";
import {
  Button,
  Card,
  EmptyState,
  late,
  NotYet,
  RiskBadge,
  StateBadge,
  Text,
  Time,
  TimeLeft,
  ToolName,
  useIsOver,
} from "../../kit/index.ts";
import { ChangedNotice, Fingerprints, Votes, WhyAsked } from "./card-parts.tsx";
import { DecideBar } from "./decide-bar.tsx";
import { useAcknowledged, useMismatches } from "./deciding.ts";
import { useInbox } from "./inbox.ts";
import { RunSoFar } from "./run-so-far.tsx";
import { ExactArguments, PreviewPart } from "./what-runs.tsx";

const BatchDialog = late(async () => (await import("./batch-dialog.tsx")).BatchDialog);

interface ApprovalCardProps {
  readonly id: string;
  /** It follows a decided one: it gets the keyboard focus, and a screen reader reads it. */
  readonly isNext: boolean;
  readonly onDecided: (id: string) => void;
  readonly onBack: () => void;
}

/** One request: what will run comes first, then why it needs approval, then who asks. */
export function ApprovalCard({ id, isNext, onDecided, onBack }: ApprovalCardProps): ReactNode {
  const { approvals, put } = useInbox();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => readApproval(id, signal),
    placeholderData: approvals.find((one) => idOf(one) === id),
  });
  const { meant, isChanged, acknowledge } = useAcknowledged(data);
  const mismatches = useMismatches(data);
  const article = useRef<HTMLElement>(null);
  const isThere = data !== undefined;
  useEffect(() => {
    if (isNext && isThere) article.current?.focus({ preventScroll: true });
  }, [isNext, isThere]);
  if (error instanceof Problem && error.code === "approval_unknown") return <NotFound id={id} onBack={onBack} />;
  if (data === undefined || meant === undefined) return <NotYet error={error} again={refetch} />;
  const keep = (fresh: ApprovalView): void => {
    // An answer to a decision may leave these two out.
    client.setQueryData<ApprovalView>(["approval", id], ({ input_schema, viewer } = data) => ({
      ...(input_schema && { input_schema }),
      ...(viewer && { viewer }),
      ...fresh,
    }));
    put(fresh);
  };
  const decided = (fresh: ApprovalView): void => {
    keep(fresh);
    acknowledge(fresh); // a person need not acknowledge their own edit
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
          <ExactArguments approval={data} mismatches={mismatches} />
          <WhyAsked approval={data} />
          <Votes approval={data} />
          <RunSoFar approval={data} />
          <AlikeRequests approval={data} />
          <Fingerprints approval={data} />
        </div>
      </div>
      <DecideBar
        approval={data}
        meant={meant}
        changed={changed}
        mismatch={mismatchText(mismatches)}
        onDecided={decided}
        onFresh={keep}
        onStale={() => void refetch()}
      />
    </article>
  );
}

function NotFound({ id, onBack }: Pick<ApprovalCardProps, "id" | "onBack">): ReactNode {
  return (
    <div role="alert">
      <EmptyState icon="warning" title="Request not found">
        <Text className="mono">{id}</Text>
      </EmptyState>
      <p className="text-center">
        <Button onClick={onBack}>All approvals</Button>
      </p>
    </div>
  );
}

function Header({ approval, onBack }: Readonly<{ approval: ApprovalView; onBack: () => void }>): ReactNode {
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
          <ToolName tool={name} action={what.action} />
        </h2>
        <RiskBadge risk={approval.risk_level} />
        {status !== "pending" && <StateBadge state={status} />}
      </div>
      <p className="text-ink-2">
        <Text className="font-medium text-ink">{requested_by.agent}</Text>
        {requested_by.user !== undefined && <Text>{` for ${requested_by.user}`}</Text>}
        {" asks to run this"}
        {server !== undefined && (
          <>
            {" on the server "}
            <Text className="font-medium text-ink">{server}</Text>
          </>
        )}
        {status === "pending" && routed.quorum > 1 && `; ${routed.quorum} people must approve`}
        {". Asked "}
        <Time at={created_at} />.{status === "pending" && <Expiry until={expires_at} />}
      </p>
    </header>
  );
}

function Expiry({ until }: { readonly until: string }): ReactNode {
  if (useIsOver(until)) return " It has expired: it cannot be approved any more, and the tool does not run.";
  return (
    <>
      {" Expires in "}
      <TimeLeft until={until} />; then it is denied, and the tool does not run.
    </>
  );
}

/** So many are decided together at most. */
const mostTogether = 50;

/** Requests of one run that differ only in their arguments: they can be decided together. */
function AlikeRequests({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { approvals } = useInbox();
  const [open, setOpen] = useState(false);
  const alike = approvals.filter(
    (one) => isAlike(approval, one) && (mayDecide(one, "approve") || mayDecide(one, "deny")),
  );
  if (alike.length < 2) return null;
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
        <p>
          <strong className="font-semibold">{alike.length} similar requests</strong> from this run wait; only their
          arguments differ.{alike.length > mostTogether && ` The first ${mostTogether} of them are decided together.`}
        </p>
        <Button onClick={() => setOpen(true)}>Decide them together…</Button>
      </div>
      {open && <BatchDialog alike={alike.slice(0, mostTogether)} onClose={() => setOpen(false)} />}
    </Card>
  );
}
