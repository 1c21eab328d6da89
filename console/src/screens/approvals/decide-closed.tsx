import type { ReactNode } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { actorText } from "../../kit/actor.ts";
import { StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import type { Press } from "./use-armed.ts";
import type { Deciding } from "./use-deciding.ts";

/** Who asked takes it back without a word of anybody else. */
export function Withdraw({
  approval: { viewer },
  deciding: { busy },
  isReady,
  onPress,
}: {
  readonly approval: ApprovalView;
  readonly deciding: Deciding;
  readonly isReady: boolean;
  readonly onPress: (by: Press) => void;
}): ReactNode {
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

/** It is over, or not for this person: how it stands, in one line. */
export function Closed({
  approval: { status, decision, expires_at, viewer },
  deciding: { mayRevoke, busy },
  isExpired,
  isReady,
  onRevoke,
  children,
}: {
  readonly approval: ApprovalView;
  readonly deciding: Deciding;
  readonly isExpired: boolean;
  readonly isReady: boolean;
  readonly onRevoke: (by: Press) => void;
  readonly children: ReactNode;
}): ReactNode {
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
      {status === "approved" && mayRevoke && (
        <Button
          look="danger"
          size="small"
          className="ml-auto"
          aria-disabled={!isReady || undefined}
          busy={busy !== undefined}
          onClick={onRevoke}
        >
          Take it back
        </Button>
      )}
    </p>
  );
}
