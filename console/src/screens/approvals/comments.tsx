import { type ReactNode, useState } from "react";
import { type ApprovalView, ask, mayDecide } from "../../api/index.ts";
import { actorText, Button, Card, Text, Time, useKeys } from "../../kit/index.ts";
import { ReasonDialog } from "../dialogs.tsx";
import { useKeepRequest } from "./requests.ts";

type CommentsProps = Readonly<{ approval: ApprovalView }>;

/** What people wrote to the agent without deciding, and a way to write more. */
export function Comments({ approval }: CommentsProps): ReactNode {
  const { comments = [], status } = approval;
  const [isOpen, setIsOpen] = useState(false);
  const keep = useKeepRequest();
  const mayWrite = status === "pending" && mayDecide(approval, "deny");
  useKeys({ r: mayWrite && !isOpen ? () => setIsOpen(true) : undefined });
  if (comments.length === 0 && !mayWrite) return null;
  return (
    <Card
      title="To the agent"
      actions={
        mayWrite && (
          <Button size="small" hint="r" onClick={() => setIsOpen(true)}>
            Respond…
          </Button>
        )
      }
      body="grid gap-2"
    >
      {comments.length === 0 && <p className="text-ink-3">Ask or explain without deciding. The agent reads it.</p>}
      <ol className="grid gap-2 empty:hidden">
        {comments.map(({ by, via, at, text }) => (
          <li key={`${at} ${by} ${text}`}>
            <p className="text-ink-2">
              <Text className="font-medium text-ink">{actorText(by, via)}</Text> <Time at={at} />
            </p>
            <Text lines>{text}</Text>
          </li>
        ))}
      </ol>
      {isOpen && (
        <ReasonDialog
          title="Respond to the agent"
          word="Send"
          label="To the agent"
          needsReason
          done="Written. The request still waits; its agent reads this before the decision."
          onSend={async ({ reason = "" }) =>
            keep(await ask("POST /v1/approvals/{id}/comments", { id: approval.approval_id, text: reason }))
          }
          onClose={() => setIsOpen(false)}
        >
          <p>Nothing is decided. All who see the request read it too.</p>
        </ReasonDialog>
      )}
    </Card>
  );
}
