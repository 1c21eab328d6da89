import { type ReactNode, useState } from "react";
import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Field } from "../kit/field.tsx";
import { Notice } from "../kit/states.tsx";
import { Text } from "../kit/text.tsx";
import { useSending } from "./use-sending.ts";

/** A change that is written into the audit log with a reason: shows what it is, sends it, and stays open when it was refused. */
export function ReasonDialog({
  title,
  word,
  look = "primary",
  wide = false,
  label = "Reason",
  needsReason = false,
  isReady = true,
  onSend,
  onClose,
  children,
}: {
  readonly title: string;
  /** Of the button. */
  readonly word: string;
  readonly look?: "primary" | "danger";
  readonly wide?: boolean;
  readonly label?: string;
  readonly needsReason?: boolean;
  readonly isReady?: boolean;
  /** @param said is spread into the body: nothing when nothing was written */
  readonly onSend: (said: { readonly reason?: string }) => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const [reason, setReason] = useState("");
  const { isBusy, problem, send } = useSending();
  const said = reason.trim() === "" ? {} : { reason: reason.trim() };
  const isAllowed = isReady && (!needsReason || "reason" in said);
  const confirm = async (): Promise<void> => {
    if (await send(() => onSend(said))) onClose();
  };
  const footer = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look={look} busy={isBusy} disabled={!isAllowed} onClick={() => void confirm()}>
        {word}
      </Button>
    </>
  );
  return (
    <Dialog title={title} open onClose={onClose} wide={wide} footer={footer}>
      {children}
      <Field label={label} hint="Kept in the audit log, with your name.">
        {(wired) => (
          <textarea
            {...wired}
            rows={2}
            className="input text-ink"
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
        )}
      </Field>
      {problem !== undefined && (
        <Notice>
          <Text lines>{problem}</Text>
        </Notice>
      )}
    </Dialog>
  );
}
