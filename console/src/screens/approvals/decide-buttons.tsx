import type { ReactNode } from "react";
import { type ApprovalView, mayDecide } from "../../api/index.ts";
import { actorText, Button, StateBadge, Text, Time } from "../../kit/index.ts";
import type { Deciding, Press } from "./deciding.ts";

export type DialogName = "approve" | "remember" | "edit" | "deny";

type DecideButtonsProps = Readonly<{
  approval: ApprovalView;
  busy: Deciding["busy"];
  /** Whether an approval needs the tool's name typed. */
  needsName: boolean;
  isReady: boolean;
  mayApproveNow: boolean;
  press: (what: DialogName, by: Press) => void;
  withdraw: ReactNode;
}>;

/** Until they are ready, the buttons keep their place for the keyboard and say that they wait. */
export function DecideButtons(props: DecideButtonsProps): ReactNode {
  const { approval, busy, needsName, isReady, mayApproveNow, press, withdraw } = props;
  const mayApprove = mayDecide(approval, "approve");
  const remembers = mayApprove && approval.remembers_allowed && !needsName;
  const { on_behalf_of: behalf, message } = approval.viewer ?? {};
  const described = [!isReady && "decide-waits", behalf !== undefined && "decide-for"].filter(Boolean).join(" ");
  const waits = {
    ...(!isReady && { "aria-disabled": true }),
    ...(described !== "" && { "aria-describedby": described }),
  };
  const approves = mayApproveNow ? waits : { ...waits, "aria-disabled": true };
  const disabled = busy !== undefined;
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      {behalf !== undefined && (
        <p id="decide-for" className="w-full text-medium max-sm:col-span-2">
          You decide for <Text className="font-medium">{behalf}</Text>, who delegated it to you; both names are kept.
        </p>
      )}
      {!mayApprove && message !== undefined && (
        <p className="w-full text-ink-2 max-sm:col-span-2">
          <Text>{message}</Text>
        </p>
      )}
      {mayDecide(approval, "deny") && (
        <Button
          {...waits}
          disabled={disabled}
          look="danger"
          icon="cross"
          hint="d"
          className={mayApprove ? "max-sm:h-12 sm:order-3" : "max-sm:col-span-2 max-sm:h-12 sm:order-3"}
          onClick={(by) => press("deny", by)}
        >
          Deny…
        </Button>
      )}
      {mayApprove && (
        <Button
          {...approves}
          look="primary"
          icon="check"
          hint={needsName ? undefined : "a"}
          className="max-sm:h-12 sm:order-4"
          busy={disabled}
          onClick={(by) => press("approve", by)}
        >
          {needsName ? "Approve…" : "Approve once"}
        </Button>
      )}
      {mayDecide(approval, "modify") && (
        <Button
          {...approves}
          disabled={disabled}
          look="plain"
          icon="pencil"
          hint="e"
          className={remembers ? "max-sm:h-10 sm:order-1" : "max-sm:col-span-2 max-sm:h-10 sm:order-1"}
          onClick={(by) => press("edit", by)}
        >
          Edit…
        </Button>
      )}
      {remembers && (
        <Button
          {...approves}
          disabled={disabled}
          look="plain"
          icon="clock"
          className="max-sm:h-10 sm:order-1"
          onClick={(by) => press("remember", by)}
        >
          Remember…
        </Button>
      )}
      <span className="contents max-sm:[&>button]:col-span-2 max-sm:[&>button]:h-10 sm:[&>button]:order-1">
        {withdraw}
      </span>
      <span className="max-sm:hidden sm:order-2 sm:flex-1" />
    </div>
  );
}

type WithdrawProps = Readonly<{
  approval: ApprovalView;
  busy: Deciding["busy"];
  isReady: boolean;
  onPress: (by: Press) => void;
}>;

/** For the person who asked, or whose agent did. */
export function Withdraw({ approval: { viewer }, busy, isReady, onPress }: WithdrawProps): ReactNode {
  if (viewer?.withdraws !== true) return null;
  return (
    <Button
      look="plain"
      title="You or an agent of yours asked for it: take the request back. The tool does not run."
      aria-disabled={!isReady || undefined}
      disabled={busy !== undefined}
      onClick={onPress}
    >
      Withdraw
    </Button>
  );
}

type ClosedProps = Readonly<{
  approval: ApprovalView;
  deciding: Deciding;
  isExpired: boolean;
  isReady: boolean;
  onRevoke: (by: Press) => void;
  children: ReactNode;
}>;

/** It is decided, or this person cannot decide it. */
export function Closed({ approval, deciding, isExpired, isReady, onRevoke, children }: ClosedProps): ReactNode {
  const { status, decision, expires_at, viewer } = approval;
  if (status === "pending") {
    return (
      <div className="flex flex-wrap items-center justify-between gap-2 text-ink-2">
        <p>
          {isExpired ? (
            <>
              It expired <Time at={expires_at} /> without a decision, so the tool does not run.
            </>
          ) : (
            viewer?.message !== undefined && <Text>{viewer.message}</Text>
          )}
        </p>
        {children}
      </div>
    );
  }
  return (
    <p className="flex flex-wrap items-center gap-2" role="status">
      {decision?.as !== status && <StateBadge state={status} />}
      {decision !== undefined && (
        <span className="inline-block first-letter:uppercase">
          {decision.as} by <Text className="font-medium">{actorText(decision.by, decision.via)}</Text>{" "}
          <Time at={decision.at} />
          {decision.reason !== undefined && <Text className="text-ink-2">{` “${decision.reason}”`}</Text>}
        </span>
      )}
      {status === "approved" && deciding.mayRevoke && (
        <Button
          look="danger"
          size="small"
          className="ml-auto"
          aria-disabled={!isReady || undefined}
          busy={deciding.busy !== undefined}
          onClick={onRevoke}
        >
          Revoke
        </Button>
      )}
    </p>
  );
}
