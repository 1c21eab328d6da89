import { type ReactNode, useState } from "react";
import { Button } from "../../kit/button.tsx";
import { Field } from "../../kit/field.tsx";

/** As the server's query names them; the address of the page has the same, so a search can be sent to somebody. */
export const filterNames = [
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

export type Filter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

export function filterFrom(search: Readonly<Record<string, unknown>>): Filter {
  const said = filterNames.flatMap((name) => {
    const value = search[name];
    const isSaid = (typeof value === "string" && value !== "") || typeof value === "number";
    return isSaid ? [[name, String(value)] as const] : [];
  });
  return Object.fromEntries(said);
}

const kinds: readonly (readonly [type: string, word: string])[] = [
  ["", "Everything"],
  ["tool_call.", "Calls"],
  ["gate.,approval.,grant.", "Gate and approvals"],
  ["operator.", "Acts of operators"],
  ["alarm.", "Alarms"],
  ["mcp.", "Servers"],
  ["runtime.", "Postern itself"],
];

/** The frequent ones in sight, the others on demand. */
export function FilterBar({
  filter,
  onChange,
}: {
  readonly filter: Filter;
  readonly onChange: (filter: Filter) => void;
}): ReactNode {
  const [isOpen, setIsOpen] = useState(() => filterNames.slice(4).some((name) => filter[name] !== undefined));
  const set = (name: keyof Filter, value: string): void =>
    onChange({ ...filter, [name]: value === "" ? undefined : value });
  const isSet = filterNames.some((name) => filter[name] !== undefined);
  return (
    <search className="grid gap-2 border-b border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-2">
        <Typed
          name="text"
          label="Text"
          filter={filter}
          set={set}
          className="min-w-48 flex-1 max-sm:basis-full"
          placeholder="Words as they stand in an event"
        />
        <Kind filter={filter} set={set} />
        <Outcome filter={filter} set={set} />
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
      {isOpen && <MoreFields filter={filter} set={set} />}
    </search>
  );
}

interface PartProps {
  readonly filter: Filter;
  readonly set: Set;
}

function Kind({ filter, set }: PartProps): ReactNode {
  const kind = filter.type ?? "";
  return (
    <select
      aria-label="Kind"
      className="input w-auto max-sm:min-w-0 max-sm:flex-1 max-sm:px-1.5"
      value={kind}
      onChange={({ target }) => set("type", target.value)}
    >
      {!kinds.some(([type]) => type === kind) && <option value={kind}>{kind}</option>}
      {kinds.map(([type, word]) => (
        <option key={type} value={type}>
          {word}
        </option>
      ))}
    </select>
  );
}

const outcomes = ["success", "failure", "suppressed", "info"];

function Outcome({ filter, set }: PartProps): ReactNode {
  const outcome = filter.outcome ?? "";
  return (
    <select
      aria-label="Outcome"
      className="input w-auto max-sm:min-w-0 max-sm:flex-1 max-sm:px-1.5"
      value={outcome}
      onChange={({ target }) => set("outcome", target.value)}
    >
      <option value="">Any outcome</option>
      {!outcomes.includes(outcome) && outcome !== "" && <option>{outcome}</option>}
      {outcomes.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}

type Set = (name: keyof Filter, value: string) => void;

function MoreFields({ filter, set }: PartProps): ReactNode {
  return (
    <div className="grid grid-cols-2 gap-2 lg:grid-cols-4">
      {(
        [
          ["tool", "Tool"],
          ["by", "Decided or done by"],
          ["agent", "Agent"],
          ["run_id", "Run"],
          ["trace_id", "Trace"],
          ["call_id", "Call"],
        ] as const
      ).map(([name, label]) => (
        <Field key={name} label={label}>
          {(wired) => <Typed {...wired} name={name} filter={filter} set={set} />}
        </Field>
      ))}
      {(["since", "until"] as const).map((name) => (
        <Field key={name} label={name === "since" ? "From" : "To"}>
          {(wired) => (
            <input
              {...wired}
              type="datetime-local"
              className="input"
              value={localOf(filter[name])}
              onChange={({ target }) => set(name, target.value === "" ? "" : new Date(target.value).toISOString())}
            />
          )}
        </Field>
      ))}
    </div>
  );
}

/** Asks at Enter or when the field is left, not at every letter. */
function Typed({
  name,
  label,
  filter,
  set,
  className = "",
  ...rest
}: {
  readonly name: keyof Filter;
  readonly label?: string;
  readonly filter: Filter;
  readonly set: Set;
  readonly className?: string;
  readonly placeholder?: string;
  readonly id?: string;
}): ReactNode {
  const said = filter[name] ?? "";
  const [typed, setTyped] = useState(said);
  const [last, setLast] = useState(said);
  if (last !== said) {
    setLast(said);
    setTyped(said);
  }
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        set(name, typed.trim());
      }}
    >
      <input
        {...rest}
        type="search"
        className="input"
        {...(label !== undefined && { "aria-label": label })}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        onBlur={() => typed.trim() !== said && set(name, typed.trim())}
      />
    </form>
  );
}

function localOf(iso: string | undefined): string {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
