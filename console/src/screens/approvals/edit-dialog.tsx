import { type ReactNode, useMemo, useState } from "react";
import { type Arguments, needsTyping } from "../../api/approvals.ts";
import { canonical } from "../../kit/canonical.ts";
import { Diff, unified } from "../../kit/diff.tsx";
import { Field } from "../../kit/field.tsx";
import { SchemaForm } from "../../kit/schema-form.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { ChoiceDialog } from "../choice-dialog.tsx";
import { type DecideDialogProps, TypedName, Why, wordsIn } from "./decision-fields.tsx";

/** Other arguments, by form or as JSON. They pass every gate again; the log keeps what was asked and what was approved. */
export function EditDialog({ approval, deciding, onClose }: DecideDialogProps): ReactNode {
  const asked = approval.what.arguments;
  const [value, setValue] = useState<Arguments>(asked);
  const [json, setJson] = useState<string>();
  const [tab, setTab] = useState("form");
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const parsed = useMemo(() => (json === undefined ? value : parse(json)), [json, value]);
  const isChanged = typeof parsed !== "string" && canonical(parsed) !== canonical(asked);
  const isTyped = !needsTyping(approval) || typed === approval.what.tool;
  const choose = (next: string): void => {
    if (tab === "json" && typeof parsed !== "string") setValue(parsed);
    if (tab === "json" && typeof parsed === "string") return;
    setJson(next === "json" ? JSON.stringify(value, null, 2) : undefined);
    setTab(next);
  };
  const approve = {
    word: "Approve as edited",
    look: "primary",
    icon: "check",
    isReady: isChanged && isTyped,
    say: async () =>
      typeof parsed === "string"
        ? parsed
        : deciding.say({ verb: "modify", arguments: parsed, reason: wordsIn(reason), confirmation: wordsIn(typed) }),
  } as const;
  return (
    <ChoiceDialog title="Approve with other arguments" choices={[approve]} wide onClose={onClose}>
      <Tabs label="How to edit" tabs={tabs} selected={tab} onSelect={choose}>
        {tab === "form" && (
          <SchemaForm schema={approval.input_schema} value={value} onChange={setValue} compare={asked} />
        )}
        {tab === "json" && (
          <Field label="The arguments as JSON" error={typeof parsed === "string" ? parsed : undefined}>
            {(wired) => (
              <textarea
                {...wired}
                rows={14}
                spellCheck={false}
                className="input mono"
                value={json ?? ""}
                onChange={({ target }) => setJson(target.value)}
              />
            )}
          </Field>
        )}
        {tab === "changes" &&
          typeof parsed !== "string" &&
          (isChanged ? (
            <Diff text={unified(JSON.stringify(asked, null, 2), JSON.stringify(parsed, null, 2))} />
          ) : (
            <p className="text-ink-2">Nothing is changed yet.</p>
          ))}
      </Tabs>
      <Why value={reason} onChange={setReason} />
      {needsTyping(approval) && <TypedName tool={approval.what.tool} value={typed} onChange={setTyped} />}
      <p className="text-ink-3">
        What you approve is checked again by every rule before it runs. Both versions are kept.
      </p>
    </ChoiceDialog>
  );
}

const tabs = [
  { id: "form", label: "Form" },
  { id: "json", label: "JSON" },
  { id: "changes", label: "Changes" },
];

function parse(text: string): Arguments | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return "The arguments are an object: { … }.";
    return value as Arguments; // an object's names are strings
  } catch (error) {
    return error instanceof Error ? error.message : "This is not JSON.";
  }
}
