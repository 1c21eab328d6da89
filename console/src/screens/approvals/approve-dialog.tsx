import { type ReactNode, useState } from "react";
import type { Approval } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import type { Deciding } from "./use-deciding.ts";

export interface DecideDialogProps {
  readonly approval: Approval;
  readonly deciding: Deciding;
  readonly onClose: () => void;
}

/** For what is critical: the tool's name is typed, so that no habit of the hand approves it. */
export function ApproveDialog({ approval, deciding, onClose }: DecideDialogProps): ReactNode {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string>();
  const { tool } = approval.what;
  const isRight = typed === tool;
  const approve = async (): Promise<void> => {
    if (!isRight) return;
    const refused = await deciding.say({ verb: "approve", confirmation: typed });
    if (refused === undefined) onClose();
    else setProblem(refused);
  };
  return (
    <Dialog
      title="Approve a critical call"
      open
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button
            look="primary"
            icon="check"
            disabled={!isRight}
            busy={deciding.busy !== undefined}
            onClick={() => void approve()}
          >
            Approve once
          </Button>
        </>
      }
    >
      {problem !== undefined && (
        <Notice>
          <Text>{problem}</Text>
        </Notice>
      )}
      <p>
        <Text className="font-semibold">{tool}</Text> runs once, with exactly the arguments on the card.
        {approval.routed.quorum > 1 && ` ${approval.quorum_left} of ${approval.routed.quorum} people must still agree.`}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void approve();
        }}
      >
        <Field
          label={
            <>
              Type <Text className="mono font-semibold">{tool}</Text> to approve it
            </>
          }
        >
          {(wired) => (
            <input
              {...wired}
              data-first
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              className="input mono"
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
