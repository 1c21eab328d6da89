import { type ReactNode, useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import type { DecideDialogProps } from "./approve-dialog.tsx";

const common = ["Not needed", "Wrong target", "Too broad", "Ask me first"];

/** A no may say why: the agent reads it and can do better. Enter denies, so that a no is quick. */
export function DenyDialog({ approval, deciding, onClose }: DecideDialogProps): ReactNode {
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const say = async (verb: "deny" | "skip"): Promise<void> => {
    const refused = await deciding.say({ verb, reason: reason.trim() === "" ? undefined : reason.trim() });
    if (refused === undefined) onClose();
    else setProblem(refused);
  };
  const isBusy = deciding.busy !== undefined;
  return (
    <Dialog
      title="Deny this call"
      open
      onClose={onClose}
      footer={
        <>
          <Button disabled={isBusy} onClick={() => void say("skip")} title="The agent is told to go on without it">
            Skip
          </Button>
          <Button look="danger" icon="cross" busy={isBusy} onClick={() => void say("deny")}>
            Deny
          </Button>
        </>
      }
    >
      {problem !== undefined && (
        <Notice>
          <Text>{problem}</Text>
        </Notice>
      )}
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void say("deny");
        }}
      >
        <Field
          label="Why? (may stay empty)"
          hint={
            <>
              The agent is told. <Text>{approval.what.tool}</Text> does not run.
            </>
          }
        >
          {(wired) => (
            <input
              {...wired}
              data-first
              maxLength={2_000}
              className="input"
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
          )}
        </Field>
        <div className="flex flex-wrap gap-1.5">
          {common.map((one) => (
            <Button key={one} size="small" onClick={() => setReason(one)}>
              {one}
            </Button>
          ))}
        </div>
      </form>
    </Dialog>
  );
}
