import { type ReactNode, useState } from "react";
import { type Approval, decideMany, namesOf } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Json } from "../../kit/json.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { toast } from "../../kit/toast.tsx";
import type { Choice } from "../choice-dialog.tsx";
import { useTelling } from "../use-sending.ts";
import { DecisionDialog } from "./decision-fields.tsx";
import { useInbox } from "./inbox.ts";
import { TooEarly } from "./too-early.tsx";
import { markOf } from "./use-acknowledged.ts";
import { useArmed } from "./use-armed.ts";

/** Many at once, each as it was when this was opened, and each recorded by itself. */
export function BatchDialog({
  alike,
  onClose,
}: {
  readonly alike: readonly Approval[];
  readonly onClose: () => void;
}): ReactNode {
  const { approvals, reload } = useInbox();
  // What was there when it was opened: one that arrives later is not decided unseen.
  const [shown, setShown] = useState(alike);
  const now = shown.map((one) => approvals.find(({ approval_id }) => approval_id === one.approval_id) ?? one);
  const others = now.filter((one, at) => markOf(one) !== markOf(shown[at] ?? one)).length;
  // The button that opened this may lie under one of these.
  const armed = useArmed(shown.map(markOf).join());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(alike.map(({ approval_id }) => approval_id)));
  const tell = useTelling();
  const decide = (decision: "approved" | "denied") => () =>
    tell(async () => {
      const { answers } = await decideMany(
        shown.filter(({ approval_id }) => chosen.has(approval_id)),
        decision,
        undefined,
      );
      const failed = answers.filter(({ decided }) => !decided);
      toast(
        failed.length === 0
          ? `${answers.length} ${decision}.`
          : `${answers.length - failed.length} ${decision}, ${failed.length} not: ${failed[0]?.error?.message ?? ""}`,
        failed.length === 0 ? "good" : "bad",
      );
      reload();
    });
  const toggle = (id: string, isIn: boolean): void => {
    const next = new Set(chosen);
    if (isIn) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const isReady = chosen.size > 0 && armed.isArmed;
  const changed =
    others === 0 ? undefined : (
      <Notice tone="medium">
        {others} of these changed while you looked at them. What you see is what you would have decided.{" "}
        <Button size="small" onClick={() => setShown(now)}>
          Show them as they are
        </Button>
      </Notice>
    );
  const choices: readonly Choice[] = [
    { word: `Deny ${chosen.size}`, look: "danger", icon: "cross", isReady, say: decide("denied") },
    { word: `Approve ${chosen.size}, each once`, look: "primary", icon: "check", isReady, say: decide("approved") },
  ];
  return (
    <DecisionDialog
      title={`${chosen.size} of ${shown.length} requests for ${namesOf(alike[0]?.what.tool ?? "").name}`}
      choices={choices}
      wide
      changed={changed}
      onClose={onClose}
    >
      <TooEarly armed={armed} />
      <ul className="grid gap-2">
        {shown.map(({ approval_id, what, preview }) => (
          <li key={approval_id}>
            <label className="flex items-start gap-2.5">
              <input
                type="checkbox"
                className="mt-1 accent-accent"
                checked={chosen.has(approval_id)}
                onChange={({ target }) => toggle(approval_id, target.checked)}
              />
              <span className="grid min-w-0 flex-1 gap-1">
                {preview?.supported === true && <Text>{preview.summary}</Text>}
                <Json value={what.arguments} />
              </span>
            </label>
          </li>
        ))}
      </ul>
    </DecisionDialog>
  );
}
