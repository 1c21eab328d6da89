import { type ReactNode, useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Text } from "../../kit/text.tsx";
import type { Choice } from "../choice-dialog.tsx";
import { type DecideDialogProps, DecisionDialog, Why, wordsIn } from "./decision-fields.tsx";

const common = ["Not needed", "Wrong target", "Too broad", "Ask me first"];

/** A no may say why: the agent reads it and can do better. Enter denies, so that a no is quick. */
export function DenyDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const [reason, setReason] = useState("");
  const say = (verb: "deny" | "skip") => () => deciding.say({ verb, reason: wordsIn(reason) });
  const choices: readonly Choice[] = [
    { word: "Skip", title: "The agent is told to go on without it", say: say("skip") },
    { word: "Deny", look: "danger", icon: "cross", say: say("deny") },
  ];
  return (
    <DecisionDialog title="Deny this call" choices={choices} byEnter changed={changed} onClose={onClose}>
      <Why
        value={reason}
        onChange={setReason}
        first
        hint={
          <>
            The agent is told. <Text>{approval.what.tool}</Text> does not run.
          </>
        }
      />
      <div className="flex flex-wrap gap-1.5">
        {common.map((one) => (
          <Button key={one} size="small" onClick={() => setReason(one)}>
            {one}
          </Button>
        ))}
      </div>
    </DecisionDialog>
  );
}
