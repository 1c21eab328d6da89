import { Link } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import { type ApprovalView, namesOf } from "../../api/approvals.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { classNames } from "../../kit/class-names.ts";
import { Text } from "../../kit/text.tsx";
import { Time, TimeLeft } from "../../kit/time.tsx";

/** What it is, who asks, how long it waits still: enough to choose by. */
export const ApprovalRow: (props: { readonly approval: ApprovalView; readonly isOpen: boolean }) => ReactNode = memo(
  function ApprovalRow({ approval, isOpen }: { readonly approval: ApprovalView; readonly isOpen: boolean }) {
    const { what, requested_by, preview, summary, quorum_left, routed } = approval;
    const { server, name } = namesOf(what.tool);
    return (
      <Link
        to="/approvals/$id"
        params={{ id: approval.approval_id }}
        aria-current={isOpen ? "true" : undefined}
        className={classNames(
          "grid gap-1 border-b border-line px-4 py-2.5 -outline-offset-2",
          isOpen ? "max-lg:hover:bg-hover lg:bg-accent-tint" : "hover:bg-hover",
        )}
      >
        <span className="flex items-center justify-between gap-2">
          <span className="min-w-0 truncate font-semibold">
            <Text>{name}</Text>
            {what.action !== "default" && <Text className="font-normal text-ink-2">{` ${what.action}`}</Text>}
          </span>
          <RiskBadge risk={approval.risk_level} />
        </span>
        <span className="line-clamp-1 text-ink-2">
          <Text limit={160}>{preview?.summary ?? summary ?? oneLine(what.arguments)}</Text>
        </span>
        <span className="flex items-center justify-between gap-2 text-[0.8571rem] text-ink-2">
          <span className="min-w-0 truncate">
            <Text>{requested_by.agent}</Text>
            {server !== undefined && (
              <>
                {" · "}
                <Text>{server}</Text>
              </>
            )}
            {routed.quorum > 1 && ` · ${routed.quorum - quorum_left} of ${routed.quorum} votes`}
          </span>
          <HowItStands approval={approval} />
        </span>
      </Link>
    );
  },
);

/** Until when it waits; else what became of it, and when. A yes that has not run ends too. */
function HowItStands({ approval: { status, expires_at, decision } }: { readonly approval: ApprovalView }): ReactNode {
  if (status === "pending") return <TimeLeft until={expires_at} />;
  return (
    <span className="flex shrink-0 items-center gap-1.5">
      <StateBadge state={status} />
      {decision !== undefined && <Time at={decision.at} />}
    </span>
  );
}

function oneLine(value: unknown): string {
  return JSON.stringify(value).slice(0, 160);
}
