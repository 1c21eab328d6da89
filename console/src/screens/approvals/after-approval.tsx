import { type ReactNode, useState } from "react";
import { type ApprovalView, decide, Problem, sentenceOf, useAnswer, useMay } from "../../api/index.ts";
import { Button, StateBadge, Text } from "../../kit/index.ts";
import { useKeepRequest, useTool } from "./requests.ts";

/** What became of an approved call, and a way back while it has not run. A tool that runs at its approval has none. */
export function AfterApproval({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const keep = useKeepRequest();
  const { data: now = approval } = useAnswer("GET /v1/approvals/{id}", { id: approval.approval_id });
  const call = useAnswer("GET /v1/calls/{id}", { id: approval.refs.key }, { enabled: useMay()("calls:read") }).data;
  const tool = useTool(approval);
  const [problem, setProblem] = useState<string>();
  const undo = async (): Promise<void> => {
    try {
      keep(await decide(approval, { verb: "revoke" }));
    } catch (error) {
      const isLate = error instanceof Problem && error.code === "approval_decided";
      setProblem(isLate ? "Too late: it has run, or runs now." : `Not undone: ${sentenceOf(error)}`);
    }
  };
  const isUnused = now.status === "approved" && problem === undefined;
  const state = now.status === "used" ? call?.state : now.status;
  return (
    <span role="status" className="flex flex-wrap items-center gap-1.5 text-ink-2">
      {problem !== undefined && <Text className="text-critical">{problem}</Text>}
      {isUnused && "waits for its agent"}
      {!isUnused && state !== undefined && state !== "approved" && <StateBadge state={state} />}
      {isUnused && tool?.detached === false && (
        <Button look="plain" size="small" onClick={() => void undo()}>
          Undo
        </Button>
      )}
    </span>
  );
}
