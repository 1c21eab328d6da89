import type { ReactNode } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { useReadOn } from "../../api/use-pages.ts";
import { EmptyState, ErrorState, Skeleton } from "../../kit/states.tsx";
import { useLiveState } from "../../live/feed.ts";
import { ApprovalList } from "./approval-list.tsx";
import type { Wanted } from "./list-head.tsx";
import type { Narrowed } from "./narrowed.ts";

/** What waits and is wanted. Words are searched for in all of it: what is not here yet is read. */
export function WaitingList({
  inbox: { status, error, hasMore, reload, more },
  shown,
  open,
  wanted: { risk, isMine, words },
}: {
  readonly inbox: Pick<Narrowed, "approvals" | "status" | "error" | "hasMore" | "reload" | "more">;
  readonly shown: readonly ApprovalView[];
  readonly open: string | undefined;
  readonly wanted: Wanted;
}): ReactNode {
  const isAway = useLiveState() === "reconnecting";
  const isSearching = useReadOn(words.trim() !== "", { hasMore, more });
  if (status === "loading") return <Skeleton rows={8} />;
  if (status === "failed") return <ErrorState error={error} retry={reload} />;
  if (shown.length === 0) {
    if (isAway)
      return (
        <EmptyState icon="warning" title="What waits now is not known">
          Nothing did when Postern last answered. What has been asked since is shown as soon as it answers again.
        </EmptyState>
      );
    if (isSearching) return <Skeleton rows={8} />;
    if (words.trim() !== "") return <EmptyState icon="search" title="Nothing that waits has these words" />;
    if (risk !== undefined) return <EmptyState title="Nothing of this risk waits" />;
    return isMine ? (
      <EmptyState title="Nothing waits for your word">Press “For me” again to see what waits for others.</EmptyState>
    ) : (
      <EmptyState title="Nothing waits for you">
        When an agent calls a tool that needs a person, it appears here within a moment. You can leave this page open.
      </EmptyState>
    );
  }
  return <ApprovalList label="Requests that wait, the most urgent first" approvals={shown} open={open} onEnd={more} />;
}
