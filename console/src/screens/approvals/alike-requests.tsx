import { type ReactNode, useState } from "react";
import { type ApprovalView, isAlike, maySay } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { late } from "../../kit/late.tsx";
import { useInbox } from "./inbox.ts";

/** So many are looked at in one sitting. */
const mostTogether = 50;

const BatchDialog = late(async () => (await import("./batch-dialog.tsx")).BatchDialog);

/** Many requests of one run that differ in their arguments alone: seen together, decided together, recorded each by itself. */
export function AlikeRequests({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { approvals } = useInbox();
  const [open, setOpen] = useState(false);
  const alike = approvals.filter((one) => isAlike(approval, one) && (maySay(one, "approve") || maySay(one, "deny")));
  if (alike.length < 2) return null;
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
        <p>
          <strong className="font-semibold">{alike.length} alike requests</strong> of this run wait, each with arguments
          of its own.{alike.length > mostTogether && ` The first ${mostTogether} of them are decided together.`}
        </p>
        <Button onClick={() => setOpen(true)}>Decide them together…</Button>
      </div>
      {open && <BatchDialog alike={alike.slice(0, mostTogether)} onClose={() => setOpen(false)} />}
    </Card>
  );
}
