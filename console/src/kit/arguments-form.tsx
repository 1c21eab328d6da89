import { type ReactNode, useMemo, useState } from "react";
import { LargeText, mostInControl } from "./copy.tsx";
import { type Entered, type Fields, readEntered, switched } from "./entered.ts";
import { TextField } from "./field.tsx";
import { type Schema, SchemaForm } from "./schema-form.tsx";
import { type Tab, Tabs } from "./tabs.tsx";
import { Unseen } from "./text.tsx";

const tabs: readonly Tab[] = [
  { id: "form", label: "Form" },
  { id: "json", label: "JSON" },
];

type ArgumentsFormProps = Readonly<{
  label: string;
  schema: Schema | undefined;
  entered: Entered;
  onChange: (entered: Entered) => void;
  /** The arguments as they were sent. */
  compare?: Fields;
  /** Shown in a tab of its own. */
  changes?: () => ReactNode;
}>;

/** The arguments of a call, as a form or as JSON. A mistake is shown beside its field. */
export function ArgumentsForm({ label, schema, entered, onChange, compare, changes }: ArgumentsFormProps): ReactNode {
  const [tab, setTab] = useState("form");
  const read = readEntered(entered);
  const whole = useMemo(() => (compare === undefined ? "" : JSON.stringify(compare, null, 2)), [compare]);
  const isLong = whole.length > mostInControl;
  const choose = (next: string): void => {
    const how = next === "json" && !isLong ? "json" : "form";
    const other = switched(entered, how);
    if (other === undefined) showProblem();
    else {
      if (other !== entered) onChange(other);
      setTab(next);
    }
  };
  const problem = "problem" in read ? read.problem : undefined;
  return (
    <Tabs
      label={label}
      tabs={changes === undefined ? tabs : [...tabs, { id: "changes", label: "Changes" }]}
      selected={tab}
      onSelect={choose}
    >
      {tab === "form" && <SchemaForm schema={schema} entered={entered} onChange={onChange} compare={compare} />}
      {tab === "json" && isLong && <LargeText label="The arguments as JSON" text={whole} fileName="arguments.json" />}
      {tab === "json" && !isLong && (
        <TextField
          label="The arguments as JSON"
          error={problem}
          mono
          rows={14}
          value={entered.json ?? ""}
          onChange={(json) => onChange({ ...entered, json })}
        />
      )}
      {tab === "json" && !isLong && <Unseen text={entered.json ?? ""} />}
      {tab === "changes" && changes?.()}
    </Tabs>
  );
}

function showProblem(): void {
  document.querySelector<HTMLElement>("[role=tabpanel] [aria-invalid=true]")?.focus();
}
