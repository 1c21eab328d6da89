import { type ReactNode, useState } from "react";
import { Field } from "../kit/field.tsx";
import { ChoiceDialog } from "./choice-dialog.tsx";
import { useTelling } from "./use-sending.ts";

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
  const tell = useTelling();
  const said = reason.trim() === "" ? {} : { reason: reason.trim() };
  const isAllowed = isReady && (!needsReason || "reason" in said);
  const choice = { word, look, isReady: isAllowed, say: () => tell(() => onSend(said)) };
  return (
    <ChoiceDialog title={title} wide={wide} choices={[choice]} onClose={onClose}>
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
    </ChoiceDialog>
  );
}
