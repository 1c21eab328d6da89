import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Field, Select, TextField, Toggle, TypedSearch } from "./field.tsx";
import { number } from "./format.ts";
import { Text } from "./text.tsx";

/** An empty value is no filter. */
export type FilterOption = readonly [value: string | true, word: string, count?: number | undefined];

/** One member of the address. Without options, a text is typed. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly FilterOption[];
  /** `chips`: all options are in sight. `wide`: on a phone it has a line of its own. */
  readonly look?: "chips" | "time" | "wide";
  /** `more`: behind a button. `link`: only links set it. */
  readonly place?: "more" | "link";
  readonly placeholder?: string;
}

type Value = string | true | undefined;

export interface Filters {
  readonly values: Readonly<Record<string, Value>>;
  readonly onChange: (change: Readonly<Record<string, Value>>) => void;
}

/** The filters that are in the address. */
export function useFilters(): Filters {
  const values = useSearch({ strict: false }) as Filters["values"]; // each screen's address holds only such
  const navigate = useNavigate();
  const onChange: Filters["onChange"] = (change) =>
    void navigate({ to: ".", search: (now: object) => ({ ...now, ...change }), replace: true });
  return { values, onChange };
}

type FilterBarProps = Filters & Readonly<{ filters: readonly Filter[] }>;

/** The search and the filters over a list. */
export function FilterBar({ filters, values, onChange }: FilterBarProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const more = filters.filter(({ place }) => place === "more");
  const set = filters.filter(({ name }) => values[name] !== undefined);
  const chips = set.filter(({ place }) => place === "link" || (place === "more" && !isOpen));
  const control = (filter: Filter): ReactNode => (
    <Control
      key={filter.label}
      filter={filter}
      value={values[filter.name]}
      onChange={(value) => onChange({ [filter.name]: value === "" ? undefined : value })}
    />
  );
  return (
    <search className="grid min-w-0 gap-2 border-b border-line bg-surface p-3">
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        {filters.filter(({ place }) => place === undefined).map(control)}
        {more.length > 0 && (
          <Button aria-expanded={isOpen} className="max-sm:h-10" onClick={() => setIsOpen(!isOpen)}>
            {isOpen ? "Fewer" : "More"}
            <span className="-ml-0.5 max-sm:sr-only"> fields</span>
          </Button>
        )}
        {more.length > 0 && set.length > 0 && (
          <Button
            look="plain"
            icon="cross"
            onClick={() => onChange(Object.fromEntries(set.map(({ name }) => [name, undefined])))}
          >
            Clear
          </Button>
        )}
      </div>
      {isOpen && <div className="grid grid-cols-2 gap-2 lg:grid-cols-4">{more.map(control)}</div>}
      {chips.length > 0 && (
        <p className="flex flex-wrap items-center gap-1.5">
          {chips.map(({ name, label }) => (
            <Button
              key={name}
              size="small"
              icon="cross"
              className="max-w-full"
              aria-label={`${label} ${values[name]}: show all`}
              onClick={() => onChange({ [name]: undefined })}
            >
              <span className="truncate">
                {label} <Text>{String(values[name])}</Text>
              </span>
            </Button>
          ))}
        </p>
      )}
    </search>
  );
}

type ControlProps = Readonly<{ filter: Filter; value: Value; onChange: (value: Value) => void }>;

function Control({ filter, value = "", onChange }: ControlProps): ReactNode {
  const { label, options, look, place, placeholder } = filter;
  if (options !== undefined && look === "chips")
    return (
      <fieldset className="flex max-w-full min-w-0 gap-1 overflow-x-auto">
        <legend className="sr-only">{label}</legend>
        {options.map(([option, word, count]) => (
          <Toggle key={word} isOn={option === value} onClick={() => onChange(option === value ? "" : option)}>
            {word} {count !== undefined && <span className="tabular text-[0.8571rem]">{number(count)}</span>}
          </Toggle>
        ))}
      </fieldset>
    );
  if (options !== undefined) {
    const isKnown = options.some(([option]) => option === value); // another one is shown as it is
    const all: readonly FilterOption[] = isKnown ? options : [[value, String(value)], ...options];
    return (
      <Select
        aria-label={label}
        className="w-auto max-sm:min-w-0 max-sm:flex-1 max-sm:px-1.5"
        value={String(value)}
        options={all.map(([option, word, count]) => [
          String(option),
          count === undefined ? word : `${word} (${number(count)})`,
        ])}
        onChange={onChange}
      />
    );
  }
  if (look === "time")
    return (
      <TextField
        label={label}
        type="datetime-local"
        value={localOf(String(value))}
        onChange={(text) => onChange(text === "" ? "" : new Date(text).toISOString())}
      />
    );
  const words = value === "" ? undefined : String(value);
  if (place === "more")
    return (
      <Field label={label}>
        {({ id }) => <TypedSearch id={id} words={words} onWords={(found) => onChange(found)} />}
      </Field>
    );
  return (
    <TypedSearch
      label={label}
      placeholder={placeholder}
      className={classNames("h-8 min-w-32 flex-1 max-lg:h-9", look === "wide" && "max-sm:basis-full")}
      words={words}
      onWords={onChange}
    />
  );
}

function localOf(iso: string): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
