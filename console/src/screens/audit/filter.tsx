import { type ReactNode, useState } from "react";
import { Button, Field, type Options, SearchInput, Select, TextField } from "../../kit/index.ts";

/** As the server's query names them. The address of the page has the same names, so a search can be sent as a link. */
const filterNames = [
  "text",
  "type",
  "tool",
  "outcome",
  "by",
  "agent",
  "run_id",
  "trace_id",
  "call_id",
  "since",
  "until",
] as const;

type Filter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

export function filterFrom(search: Readonly<Record<string, unknown>>): Filter {
  const given = filterNames.flatMap((name) => {
    const value = search[name];
    const isGiven = (typeof value === "string" && value !== "") || typeof value === "number";
    return isGiven ? [[name, String(value)] as const] : [];
  });
  return Object.fromEntries(given);
}

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

type FilterBarProps = Readonly<{ filter: Filter; onChange: (filter: Filter) => void }>;

export function FilterBar({ filter, onChange }: FilterBarProps): ReactNode {
  const [isOpen, setIsOpen] = useState(() => filterNames.slice(4).some((name) => filter[name] !== undefined));
  const set = (name: keyof Filter, value: string): void =>
    onChange({ ...filter, [name]: value === "" ? undefined : value });
  const isSet = filterNames.some((name) => filter[name] !== undefined);
  return (
    <search className="grid gap-2 border-b border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-2">
        <TypedFilter
          value={filter.text ?? ""}
          onSet={(value) => set("text", value)}
          label="Text"
          className="min-w-48 flex-1 max-sm:basis-full"
          placeholder="Exact text in an event, then Enter"
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
              {({ id }) => <TypedFilter id={id} value={filter[name] ?? ""} onSet={(value) => set(name, value)} />}
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

type TypedFilterProps = Readonly<{
  id?: string;
  label?: string;
  value: string;
  onSet: (value: string) => void;
  className?: string;
  placeholder?: string;
}>;

/** Searches at Enter or when the field is left, not at every letter. */
function TypedFilter({ id, label, value, onSet, className, placeholder }: TypedFilterProps): ReactNode {
  const [typed, setTyped] = useState(value);
  const [last, setLast] = useState(value);
  if (last !== value) {
    setLast(value);
    setTyped(value);
  }
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        onSet(typed.trim());
      }}
    >
      <SearchInput
        id={id}
        label={label}
        placeholder={placeholder}
        words={typed}
        onChange={setTyped}
        onBlur={() => typed.trim() !== value && onSet(typed.trim())}
      />
    </form>
  );
}

function localOf(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
