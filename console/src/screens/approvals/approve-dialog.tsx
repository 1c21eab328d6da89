import { type ReactNode, useState } from "react";
import { Text } from "../../kit/text.tsx";
import { type DecideDialogProps, DecisionDialog, TypedName } from "./decision-fields.tsx";

/** Where the name is typed: for what is critical, or as its route asks. */
export function ApproveDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const [typed, setTyped] = useState("");
  const { what, routed, quorum_left } = approval;
  const approve = {
    word: "Approve once",
    look: "primary",
    icon: "check",
    isReady: typed === what.tool,
    say: () => deciding.say({ verb: "approve", confirmation: typed }),
  } as const;
  return (
    <DecisionDialog
      title={`Approve a call of ${approval.risk_level} risk`}
      choices={[approve]}
      byEnter
      changed={changed}
      onClose={onClose}
    >
      <p>
        <Text className="font-semibold">{what.tool}</Text> runs once, with exactly the arguments on the card.
        {routed.quorum > 1 && ` ${quorum_left} of ${routed.quorum} people must still agree.`}
      </p>
      <TypedName tool={what.tool} value={typed} onChange={setTyped} first />
    </DecisionDialog>
  );
}
