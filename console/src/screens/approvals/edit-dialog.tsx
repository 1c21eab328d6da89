import { type ReactNode, useMemo, useState } from "react";
import { ArgumentsForm, Check, Diff, enteredOf, hunks, isSame, readEntered, rebased } from "../../kit/index.ts";
import { textIn } from "../dialogs.tsx";
import { type DecideDialogProps, DecisionDialog, Reason, TypedName } from "./dialogs.tsx";
import { useRemember } from "./remember.tsx";

/** Other arguments, by form or as JSON. They pass every gate again; the log keeps both versions. */
export function EditDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const asked = approval.what.arguments;
  const [from, setFrom] = useState(asked);
  const [entered, setEntered] = useState(() => enteredOf(asked));
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  if (from !== asked) {
    // Another person's edit was acknowledged: it holds where nothing was typed here.
    setFrom(asked);
    setEntered(rebased(entered, from, asked));
  }
  const read = useMemo(() => readEntered(entered), [entered]);
  const isChanged = useMemo(() => "value" in read && !isSame(read.value, asked), [read, asked]);
  const isNamed = !deciding.needsName || typed === approval.what.tool;
  const [wantsRemember, setWantsRemember] = useState(false);
  const edited = "value" in read ? read.value : asked;
  const remembering = useRemember({ ...approval, what: { ...approval.what, arguments: edited } });
  const mayRemember = approval.remembers_allowed && !deciding.needsName;
  const remembers = wantsRemember && mayRemember;
  const approve = {
    word: remembers ? "Approve as edited, and remember" : "Approve as edited",
    look: "primary",
    icon: "check",
    isReady: isChanged && isNamed && (!remembers || remembering.isReady),
    send: async () =>
      "problem" in read
        ? read.problem
        : deciding.send({
            verb: "modify",
            arguments: read.value,
            reason: textIn(reason),
            confirmation: textIn(typed),
            remember: remembers ? remembering.remember() : undefined,
          }),
  } as const;
  const changes = (): ReactNode =>
    isChanged ? (
      <Diff text={hunks(JSON.stringify(asked, null, 2), JSON.stringify(edited, null, 2))} />
    ) : (
      <p className="text-ink-2">Nothing is changed yet.</p>
    );
  return (
    <DecisionDialog title="Approve with other arguments" choices={[approve]} wide changed={changed} onClose={onClose}>
      <ArgumentsForm
        label="How to edit"
        schema={approval.input_schema}
        entered={entered}
        onChange={setEntered}
        compare={asked}
        changes={changes}
      />
      <Reason value={reason} onChange={setReason} />
      {deciding.needsName && <TypedName tool={approval.what.tool} value={typed} onChange={setTyped} />}
      {mayRemember && (
        <Check isOn={wantsRemember} onChange={setWantsRemember}>
          Remember it: calls like the edited one do not ask for a while
        </Check>
      )}
      {remembers && remembering.fields}
      <p className="text-ink-3">
        What you approve is checked again by every rule before it runs. Both versions are kept.
      </p>
    </DecisionDialog>
  );
}
