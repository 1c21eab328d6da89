import { type ComponentProps, type ReactElement, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { classNames } from "./class-names.ts";

interface ControlAttributes {
  readonly id: string;
  readonly "aria-invalid"?: true | undefined;
  readonly "aria-describedby"?: string | undefined;
}

type Labels = Readonly<{ label: ReactNode; hint?: ReactNode; error?: string | undefined }>;
type FieldProps = Labels & Readonly<{ children: (attributes: ControlAttributes) => ReactElement }>;

/** A label, its control, a hint and what is wrong, connected for screen readers. */
export function Field({ label, hint, error, children }: FieldProps): ReactNode {
  const id = useId();
  const hasMore = hint !== undefined || error !== undefined;
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": error === undefined ? undefined : true,
        "aria-describedby": hasMore ? `${id}-more` : undefined,
      })}
      {hasMore && (
        <p id={`${id}-more`} className={error === undefined ? "text-ink-3" : "text-critical"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

type TextFieldProps = Labels &
  Readonly<{
    value: string;
    onChange: (text: string) => void;
    /** It has the keyboard focus when its dialog opens. */
    first?: boolean;
    mono?: boolean;
    /** Several lines. */
    rows?: number;
  }> &
  Pick<ComponentProps<"input">, "type" | "list" | "autoComplete" | "autoCapitalize" | "required" | "maxLength">;

export function TextField({ label, hint, error, onChange, ...rest }: TextFieldProps): ReactNode {
  const { first, mono = false, rows, type, list, ...more } = rest;
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => {
        const all = {
          autoComplete: "off",
          ...more,
          ...attributes,
          spellCheck: mono ? false : undefined,
          "data-first": first || undefined,
          className: classNames("input", mono && "mono"),
        };
        if (rows !== undefined)
          return <textarea {...all} rows={rows} onChange={({ target }) => onChange(target.value)} />;
        return <input {...all} type={type} list={list} onChange={({ target }) => onChange(target.value)} />;
      }}
    </Field>
  );
}

export type Options = readonly (readonly [value: string, word: string])[];

type SelectProps = Readonly<{ value: string; options: Options; onChange: (value: string) => void }> &
  Omit<ComponentProps<"select">, "onChange" | "value">;

export function Select({ value, options, onChange, className, ...rest }: SelectProps): ReactNode {
  return (
    <select
      {...rest}
      className={classNames("input", className)}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      {options.map(([id, word]) => (
        <option key={id} value={id}>
          {word}
        </option>
      ))}
    </select>
  );
}

export function SelectField({ label, hint, ...select }: Labels & SelectProps): ReactNode {
  return (
    <Field label={label} hint={hint}>
      {(attributes) => <Select {...attributes} {...select} />}
    </Field>
  );
}

type CheckProps = Readonly<{
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  /** Of a group in which one is on: it is a radio button. */
  group?: string;
  className?: string;
  children: ReactNode;
}>;

export function Check({ isOn, onChange, group, className, children }: CheckProps): ReactNode {
  return (
    <label className={classNames("flex items-start gap-2", className)}>
      <input
        type={group === undefined ? "checkbox" : "radio"}
        name={group}
        className="mt-1 accent-accent"
        checked={isOn}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="min-w-0">{children}</span>
    </label>
  );
}

/** Controls under one heading. */
export function Group({ legend, children }: Readonly<{ legend: string; children: ReactNode }>): ReactNode {
  return (
    <fieldset className="grid min-w-0 gap-1.5">
      <legend className="mb-1 font-medium">{legend}</legend>
      {children}
    </fieldset>
  );
}

type RadiosProps<Value extends string> = Readonly<{
  legend: string;
  value: Value | undefined;
  options: readonly (readonly [value: Value, content: ReactNode])[];
  onChange: (value: Value) => void;
}>;

export function Radios<Value extends string>({ legend, value, options, onChange }: RadiosProps<Value>): ReactNode {
  const group = useId();
  return (
    <Group legend={legend}>
      {options.map(([id, content]) => (
        <Check key={id} group={group} isOn={value === id} onChange={() => onChange(id)}>
          {content}
        </Check>
      ))}
    </Group>
  );
}

type ToggleProps = Readonly<{ isOn: boolean; onClick: () => void; children: ReactNode }>;

/** A button that is on or off. */
export function Toggle({ isOn, onClick, children }: ToggleProps): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onClick}
      className={classNames(
        "h-7 rounded-md px-2 whitespace-nowrap max-lg:h-9",
        isOn ? "bg-accent-tint font-medium text-accent" : "text-ink-2 hover:bg-hover",
      )}
    >
      {children}
    </button>
  );
}

type TypedSearchProps = Pick<ComponentProps<"input">, "id" | "placeholder" | "className"> &
  Readonly<{
    label?: string | undefined;
    /** As they are searched for. */
    words: string | undefined;
    onWords: (words: string | undefined) => void;
  }>;

const typingMs = 250;

/** Searches a moment after the last letter, and at once at Enter. */
export function TypedSearch({ words = "", onWords, label, className, ...rest }: TypedSearchProps): ReactNode {
  const [typed, setTyped] = useState(words);
  const [last, setLast] = useState(words);
  /** Searched for here, and not yet in `words`. */
  const [sent, setSent] = useState<readonly string[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (last !== words) {
    const at = sent.lastIndexOf(words);
    setLast(words);
    setSent(sent.slice(at + 1));
    if (at === -1) setTyped(words); // by a link, or by going back
  }
  const search = (text: string): void => {
    clearTimeout(timer.current);
    const wanted = text.trim();
    if (wanted === (sent.at(-1) ?? words)) return;
    setSent([...sent, wanted]);
    onWords(wanted === "" ? undefined : wanted);
  };
  const type = (text: string): void => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(search, typingMs, text);
  };
  return (
    <form
      className="contents"
      onSubmit={(event) => {
        event.preventDefault();
        search(typed);
      }}
    >
      <input
        {...rest}
        type="search"
        aria-label={label}
        className={classNames("input", className)}
        value={typed}
        onChange={({ target }) => type(target.value)}
      />
    </form>
  );
}
