import { largestBatch } from "@postern/core";
import { type ReactNode, useMemo, useState } from "react";
import { type ApprovalView, isAlike, mayDecide, namesOf, needsTyping, useAnswer } from "../../api/index.ts";
import { Button, Card, late, number, Text, TextLink } from "../../kit/index.ts";
import { useRequests } from "./requests.ts";

const BatchDialog = late(async () => (await import("./batch-dialog.tsx")).BatchDialog);

/** Requests of the same run for the same tool and risk: the server counts them, and they can be decided together. */
export function SimilarRequests({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { refs, what, risk_level: risk } = approval;
  const where = useMemo(() => ({ run_id: refs.run, tool: what.tool, risk }), [refs.run, what.tool, risk]);
  const { data } = useAnswer("GET /v1/approvals/groups", where);
  const waiting = data?.groups[0]?.waiting ?? 0;
  const [isOpen, setIsOpen] = useState(false);
  if (waiting < 2 || approval.status !== "pending") return null;
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
        <p>
          <TextLink to="/approvals/{-$request}" params={{ request: undefined }} search={where}>
            {number(waiting)} similar requests
          </TextLink>{" "}
          for <Text>{namesOf(what.tool).name}</Text> wait in this run.
          {needsTyping(approval) && " Each of them is approved alone."}
        </p>
        {!needsTyping(approval) && <Button onClick={() => setIsOpen(true)}>Decide them together…</Button>}
      </div>
      {isOpen && <Batch approval={approval} waiting={waiting} where={where} onClose={() => setIsOpen(false)} />}
    </Card>
  );
}

type BatchProps = Readonly<{
  approval: ApprovalView;
  waiting: number;
  where: Readonly<{ run_id: string; tool: string; risk: ApprovalView["risk_level"] }>;
  onClose: () => void;
}>;

/** Reads the first page of them; the dialog opens when it is here. */
function Batch({ approval, waiting, where, onClose }: BatchProps): ReactNode {
  const { rows } = useRequests(where, largestBatch);
  const alike = useMemo(
    () => rows?.filter((one) => isAlike(approval, one) && (mayDecide(one, "approve") || mayDecide(one, "deny"))),
    [rows, approval],
  );
  if (alike === undefined) return null;
  return <BatchDialog alike={alike} waiting={waiting} where={where} onClose={onClose} />;
}
