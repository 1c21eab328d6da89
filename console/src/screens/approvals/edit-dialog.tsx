import { type ReactNode, useMemo, useState } from "react";
import type { Arguments } from "../../api/approvals.ts";
import { canonical } from "../../kit/canonical.ts";
import { Diff } from "../../kit/diff.tsx";
import { Field } from "../../kit/field.tsx";
import { hunks } from "../../kit/hunks.ts";
import { LargeText, mostInControl } from "../../kit/large-text.tsx";
import { SchemaForm } from "../../kit/schema-form.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { Unseen } from "../../kit/text.tsx";
import { type DecideDialogProps, DecisionDialog, TypedName, Why, wordsIn } from "./decision-fields.tsx";

/** Other arguments, by form or as JSON. They pass every gate again; the log keeps what was asked and what was approved. */
export function EditDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const asked = approval.what.arguments;
  const whole = useMemo(() => JSON.stringify(asked, null, 2), [asked]);
  const [from, setFrom] = useState(asked);
  const [value, setValue] = useState<Arguments>(asked);
  const [json, setJson] = useState<string>();
  const [tab, setTab] = useState("form");
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  if (from !== asked) {
    // Somebody else's edit was understood: it holds wherever nothing was typed here.
    setFrom(asked);
    setValue(rebased(value, from, asked));
  }
  const isLong = whole.length > mostInControl;
  const parsed = useMemo(() => (json === undefined ? value : parse(json)), [json, value]);
  const isChanged = useMemo(
    () => parsed !== asked && typeof parsed !== "string" && canonical(parsed) !== canonical(asked),
    [parsed, asked],
  );
  const isTyped = !deciding.needsName || typed === approval.what.tool;
  const choose = (next: string): void => {
    if (tab === "json" && typeof parsed !== "string") setValue(parsed);
    if (tab === "json" && typeof parsed === "string") return;
    setJson(next === "json" && !isLong ? JSON.stringify(value, null, 2) : undefined);
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
    <DecisionDialog title="Approve with other arguments" choices={[approve]} wide changed={changed} onClose={onClose}>
      <Tabs label="How to edit" tabs={tabs} selected={tab} onSelect={choose}>
        {tab === "form" && (
          <SchemaForm schema={approval.input_schema} value={value} onChange={setValue} compare={asked} />
        )}
        {tab === "json" && isLong && <LargeText label="The arguments as JSON" text={whole} fileName="arguments.json" />}
        {tab === "json" && !isLong && (
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
        {tab === "json" && !isLong && <Unseen text={json ?? ""} />}
        {tab === "changes" &&
          typeof parsed !== "string" &&
          (isChanged ? (
            <Diff text={hunks(whole, JSON.stringify(parsed, null, 2))} />
          ) : (
            <p className="text-ink-2">Nothing is changed yet.</p>
          ))}
      </Tabs>
      <Why value={reason} onChange={setReason} />
      {deciding.needsName && <TypedName tool={approval.what.tool} value={typed} onChange={setTyped} />}
      <p className="text-ink-3">
        What you approve is checked again by every rule before it runs. Both versions are kept.
      </p>
    </DecisionDialog>
  );
}

const tabs = [
  { id: "form", label: "Form" },
  { id: "json", label: "JSON" },
  { id: "changes", label: "Changes" },
];

/** What was typed, on other arguments than it was typed over. */
function rebased(value: Arguments, from: Arguments, to: Arguments): Arguments {
  const isTyped = (name: string): boolean => canonical(value[name] ?? null) !== canonical(from[name] ?? null);
  const names = [...new Set([...Object.keys(to), ...Object.keys(value)])];
  const next = names.map((name) => [name, isTyped(name) ? value[name] : to[name]] as const);
  return Object.fromEntries(next.filter(([, item]) => item !== undefined));
}

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
