import { type ReactNode, useEffect, useRef } from "react";
import { type ApprovalView, mismatchText, namesOf, Problem, stateOf, useAnswer, useMay } from "../../api/index.ts";
import {
  Button,
  Card,
  EmptyState,
  late,
  NotYet,
  RiskBadge,
  StateBadge,
  Text,
  TextLink,
  Time,
  TimeLeft,
  ToolName,
  useIsOver,
} from "../../kit/index.ts";
import { AboutCall, SubAgent } from "./about-call.tsx";
import { ChangedNotice, Fingerprints, Votes, WhyAsked } from "./card-parts.tsx";
import { Comments } from "./comments.tsx";
import { DecideBar } from "./decide-bar.tsx";
import { useAcknowledged, useMismatches } from "./deciding.ts";
import { useKeepRequest, useRequest } from "./requests.ts";
import { RunSoFar } from "./run-so-far.tsx";
import { SimilarRequests } from "./similar-requests.tsx";
import { ExactArguments, PreviewPart } from "./what-runs.tsx";

interface ApprovalCardProps {
  readonly id: string;
  /** It follows a decided one: it gets the keyboard focus, and a screen reader reads it. */
  readonly isNext: boolean;
  readonly onDecided: (id: string) => void;
  readonly onBack: () => void;
}

/** One request: what will run comes first, then why it needs approval, then who asks. */
export function ApprovalCard({ id, isNext, onDecided, onBack }: ApprovalCardProps): ReactNode {
  const { data, error, refetch } = useRequest(id);
  const keep = useKeepRequest();
  const { meant, isChanged, acknowledge } = useAcknowledged(data);
  const mismatches = useMismatches(data);
  const article = useRef<HTMLElement>(null);
  const isThere = data !== undefined;
  useEffect(() => {
    if (isNext && isThere) article.current?.focus({ preventScroll: true });
  }, [isNext, isThere]);
  if (error instanceof Problem && error.code === "approval_unknown") return <NotFound id={id} onBack={onBack} />;
  if (data === undefined || meant === undefined) return <NotYet error={error} again={refetch} />;
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
      id="request"
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
          <AboutCall approval={data} />
          <PreviewPart approval={data} />
          <ExactArguments approval={data} mismatches={mismatches} />
          <SubAgent approval={data} />
          <CameOfIt approval={data} />
          <Comments approval={data} />
          <WhyAsked approval={data} />
          <Votes approval={data} />
          <RunSoFar approval={data} />
          <SimilarRequests approval={data} />
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
        {status !== "pending" && <StateBadge state={stateOf(approval)} />}
      </div>
      <p className="text-ink-2">
        <Text className="font-medium text-ink">{requested_by.agent}</Text>
        {requested_by.user !== undefined && <Text>{` for ${requested_by.user}`}</Text>}
        {status === "pending" ? " asks to run this" : " asked to run this"}
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

/** What the call returned, or why it did not run. */
function CameOfIt({ approval: { status, refs } }: { readonly approval: ApprovalView }): ReactNode {
  const isEnded = status !== "pending" && status !== "approved";
  const { data } = useAnswer("GET /v1/calls/{id}", { id: refs.key }, { enabled: useMay()("calls:read") && isEnded });
  if (!isEnded || data === undefined) return null;
  return (
    <Card
      title="What came of it"
      actions={
        <TextLink to="/calls/{-$call}" params={{ call: data.call_id }}>
          Open the call
        </TextLink>
      }
      body="grid gap-3"
    >
      <CallContent callId={refs.key} on="card" onClose={stay} />
    </Card>
  );
}

const CallContent = late(async () => (await import("../call-content.tsx")).CallContent);
const stay = (): void => undefined;

function Expiry({ until }: { readonly until: string }): ReactNode {
  if (useIsOver(until)) return " It has expired: it cannot be approved any more, and the tool does not run.";
  return (
    <>
      {" Expires in "}
      <TimeLeft until={until} />; then it is denied, and the tool does not run.
    </>
  );
}
