import type { ReactNode } from "react";
import { type DecideDialogProps, DecisionDialog } from "./decision-fields.tsx";
import { useRemember } from "./use-remember.tsx";

/** A yes that holds for more than one call. */
export function RememberDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const { fields, isReady, remember } = useRemember(approval);
  const approve = {
    word: "Approve and remember",
    look: "primary",
    icon: "check",
    isReady,
    say: () => deciding.say({ verb: "approve", remember: remember() }),
  } as const;
  return (
    <DecisionDialog title="Approve, and remember it" choices={[approve]} changed={changed} onClose={onClose}>
      {fields}
    </DecisionDialog>
  );
}
