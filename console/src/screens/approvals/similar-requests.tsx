import { type ReactNode, useMemo } from "react";
import { type ApprovalView, namesOf, needsTyping, useAnswer } from "../../api/index.ts";
import { Card, number, Text, TextLink } from "../../kit/index.ts";
import { GroupActions } from "./group-actions.tsx";

/** Requests of the same run for the same tool and risk: the server counts them, and they can be decided together. */
export function SimilarRequests({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { refs, what, risk_level: risk, requested_by } = approval;
  const where = useMemo(() => ({ run_id: refs.run, tool: what.tool, risk }), [refs.run, what.tool, risk]);
  const { data } = useAnswer("GET /v1/approvals/groups", where);
  const waiting = data?.groups[0]?.waiting ?? 0;
  if (waiting < 2 || approval.status !== "pending") return null;
  return (
    <Card body="flex flex-wrap items-center justify-between gap-3">
      <p>
        <TextLink to="/approvals/{-$request}" params={{ request: undefined }} search={where}>
          {number(waiting)} similar requests
        </TextLink>{" "}
        for <Text>{namesOf(what.tool).name}</Text> wait in this run.
        {needsTyping(approval) && " Each of them is approved alone."}
      </p>
      <GroupActions where={where} agent={requested_by.agent} waiting={waiting} approval={approval} />
    </Card>
  );
}
