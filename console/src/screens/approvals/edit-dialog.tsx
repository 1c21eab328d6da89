import { type ReactNode, useMemo, useState } from "react";
import type { Arguments } from "../../api/approvals.ts";
import { ArgumentsForm } from "../../kit/arguments-form.tsx";
import { Diff } from "../../kit/diff.tsx";
import { enteredOf, isSame, readEntered, rebased } from "../../kit/entered.ts";
import { hunks } from "../../kit/hunks.ts";
import { type DecideDialogProps, DecisionDialog, TypedName, Why, wordsIn } from "./decision-fields.tsx";
import { Choice } from "./remember-scope.tsx";
import { useRemember } from "./use-remember.tsx";

/** Other arguments, by form or as JSON. They pass every gate again; the log keeps what was asked and what was approved. */
export function EditDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const asked = approval.what.arguments;
  const [from, setFrom] = useState(asked);
  const [entered, setEntered] = useState(() => enteredOf(asked));
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  if (from !== asked) {
    // Somebody else's edit was understood: it holds wherever nothing was typed here.
    setFrom(asked);
    setEntered(rebased(entered, from, asked));
  }
  const read = useMemo(() => readEntered(entered), [entered]);
  const isChanged = useMemo(() => "value" in read && !isSame(read.value, asked), [read, asked]);
  const isTyped = !deciding.needsName || typed === approval.what.tool;
  const [isRemembered, setIsRemembered] = useState(false);
  const edited = "value" in read ? read.value : asked;
  const remembering = useRemember({ ...approval, what: { ...approval.what, arguments: edited } });
  const mayRemember = approval.remembers_allowed && !deciding.needsName;
  const approve = {
    word: isRemembered && mayRemember ? "Approve as edited, and remember" : "Approve as edited",
    look: "primary",
    icon: "check",
    isReady: isChanged && isTyped && (!isRemembered || !mayRemember || remembering.isReady),
    say: async () =>
      "problem" in read
        ? read.problem
        : deciding.say({
            verb: "modify",
            arguments: read.value,
            reason: wordsIn(reason),
            confirmation: wordsIn(typed),
            remember: isRemembered && mayRemember ? remembering.remember() : undefined,
          }),
  } as const;
  return (
    <DecisionDialog title="Approve with other arguments" choices={[approve]} wide changed={changed} onClose={onClose}>
      <ArgumentsForm
        label="How to edit"
        schema={approval.input_schema}
        entered={entered}
        onChange={setEntered}
        compare={asked}
        changes={() =>
          isChanged && "value" in read ? (
            <Changes from={asked} to={read.value} />
          ) : (
            <p className="text-ink-2">Nothing is changed yet.</p>
          )
        }
      />
      <Why value={reason} onChange={setReason} />
      {deciding.needsName && <TypedName tool={approval.what.tool} value={typed} onChange={setTyped} />}
      {mayRemember && (
        <Choice isOn={isRemembered} onChange={setIsRemembered}>
          Remember it: calls like the edited one need nobody for a while
        </Choice>
      )}
      {mayRemember && isRemembered && remembering.fields}
      <p className="text-ink-3">
        What you approve is checked again by every rule before it runs. Both versions are kept.
      </p>
    </DecisionDialog>
  );
}

function Changes({ from, to }: { readonly from: Arguments; readonly to: Arguments }): ReactNode {
  const text = useMemo(() => hunks(JSON.stringify(from, null, 2), JSON.stringify(to, null, 2)), [from, to]);
  return <Diff text={text} />;
}
