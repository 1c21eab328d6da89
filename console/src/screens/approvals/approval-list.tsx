import type { ReactNode } from "react";
import { type ApprovalView, idOf } from "../../api/approvals.ts";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { ApprovalRow } from "./approval-row.tsx";

/** Requests, as many as there are; the one whose card is open is kept in sight. */
export function ApprovalList({
  label,
  approvals,
  open,
  onEnd,
}: {
  readonly label: string;
  readonly approvals: readonly ApprovalView[];
  readonly open: string | undefined;
  readonly onEnd: () => void;
}): ReactNode {
  return (
    <VirtualList
      label={label}
      rows={approvals}
      keyOf={idOf}
      estimate={76}
      selected={approvals.findIndex(({ approval_id }) => approval_id === open)}
      onEnd={onEnd}
      row={(approval) => <ApprovalRow approval={approval} isOpen={approval.approval_id === open} />}
    />
  );
}
