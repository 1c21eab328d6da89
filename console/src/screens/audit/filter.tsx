import { type ReactNode, useState } from "react";
import { type AuditAddress, auditFilters } from "../../address.ts";
import { Button, Field, type Options, Select, TextField, TypedSearch } from "../../kit/index.ts";

const kinds: Options = [
  ["", "Everything"],
  ["tool_call.", "Calls"],
  ["gate.,approval.,grant.", "Gate and approvals"],
  ["operator.", "Actions of operators"],
  ["alarm.", "Alarms"],
  ["mcp.", "Servers"],
  ["runtime.", "Postern itself"],
];
const outcomes: Options = [
  ["", "Any outcome"],
  ...["success", "failure", "suppressed", "info"].map((one) => [one, one] as const),
];
const moreFields = [
  ["tool", "Tool"],
  ["by", "Decided or done by"],
  ["agent", "Agent"],
  ["run_id", "Run"],
  ["trace_id", "Trace"],
  ["call_id", "Call"],
] as const;

type FilterBarProps = Readonly<{ filter: AuditAddress; onChange: (filter: AuditAddress) => void }>;

export function FilterBar({ filter, onChange }: FilterBarProps): ReactNode {
  const [isOpen, setIsOpen] = useState(() => auditFilters.slice(4).some((name) => filter[name] !== undefined));
  const set = (name: keyof AuditAddress, value: string): void =>
    onChange({ ...filter, [name]: value === "" ? undefined : value });
  const isSet = auditFilters.some((name) => filter[name] !== undefined);
  return (
    <search className="grid gap-2 border-b border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-2">
        <TypedSearch
          words={filter.text}
          onWords={(words) => set("text", words ?? "")}
          label="Text"
          className="min-w-48 flex-1 max-sm:basis-full"
          placeholder="Exact text in an event"
        />
        <Choice label="Kind" options={kinds} value={filter.type ?? ""} onChange={(value) => set("type", value)} />
        <Choice
          label="Outcome"
          options={outcomes}
          value={filter.outcome ?? ""}
          onChange={(value) => set("outcome", value)}
        />
        <Button aria-expanded={isOpen} className="max-sm:h-10" onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? "Fewer" : "More"}
          <span className="-ml-0.5 max-sm:sr-only"> fields</span>
        </Button>
        {isSet && (
          <Button look="plain" icon="cross" onClick={() => onChange({})}>
            Clear
          </Button>
        )}
      </div>
      {isOpen && (
        <div className="grid grid-cols-2 gap-2 lg:grid-cols-4">
          {moreFields.map(([name, label]) => (
            <Field key={name} label={label}>
              {({ id }) => <TypedSearch id={id} words={filter[name]} onWords={(words) => set(name, words ?? "")} />}
            </Field>
          ))}
          {(["since", "until"] as const).map((name) => (
            <TextField
              key={name}
              label={name === "since" ? "From" : "To"}
              type="datetime-local"
              value={localOf(filter[name])}
              onChange={(text) => set(name, text === "" ? "" : new Date(text).toISOString())}
            />
          ))}
        </div>
      )}
    </search>
  );
}

type ChoiceProps = Readonly<{ label: string; options: Options; value: string; onChange: (value: string) => void }>;

/** A value of the address that is not among the options is shown as it is. */
function Choice({ label, options, value, onChange }: ChoiceProps): ReactNode {
  const isKnown = options.some(([option]) => option === value);
  return (
    <Select
      aria-label={label}
      className="w-auto max-sm:min-w-0 max-sm:flex-1 max-sm:px-1.5"
      value={value}
      options={isKnown ? options : [[value, value], ...options]}
      onChange={onChange}
    />
  );
}

function localOf(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
