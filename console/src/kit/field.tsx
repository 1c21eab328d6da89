import { type ComponentProps, type ReactElement, type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";

interface Wired {
  readonly id: string;
  readonly "aria-invalid"?: true | undefined;
  readonly "aria-describedby"?: string | undefined;
}

type Labels = Readonly<{ label: ReactNode; hint?: ReactNode; error?: string | undefined }>;
type FieldProps = Labels & Readonly<{ children: (wired: Wired) => ReactElement }>;

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

type Writes = Readonly<{
  onChange: (text: string) => void;
  /** It has the keyboard when its dialog opens. */
  first?: boolean;
  mono?: boolean;
}>;
type TextFieldProps = Labels & Writes & Omit<ComponentProps<"input">, "onChange">;

export function TextField({ label, hint, error, onChange, first, mono, ...rest }: TextFieldProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <input
          autoComplete="off"
          {...rest}
          {...wired}
          data-first={first || undefined}
          className={classNames("input", mono && "mono")}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

type TextAreaProps = Labels & Writes & Omit<ComponentProps<"textarea">, "onChange">;

export function TextArea({ label, hint, error, onChange, first, mono, ...rest }: TextAreaProps): ReactNode {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wired) => (
        <textarea
          spellCheck={!mono}
          {...rest}
          {...wired}
          data-first={first || undefined}
          className={classNames("input text-ink", mono && "mono")}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

type SelectProps = Readonly<{
  value: string;
  /** Value and word. */
  options: readonly (readonly [value: string, word: string])[];
  onChange: (value: string) => void;
}> &
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
      {(wired) => <Select {...wired} {...select} />}
    </Field>
  );
}

type CheckProps = Readonly<{
  isOn: boolean;
  onChange: (isOn: boolean) => void;
  className?: string;
  children: ReactNode;
}>;

export function Check({ isOn, onChange, className, children }: CheckProps): ReactNode {
  return (
    <label className={classNames("flex items-start gap-2", className)}>
      <input
        type="checkbox"
        className="mt-1 accent-accent"
        checked={isOn}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="min-w-0">{children}</span>
    </label>
  );
}

type RadiosProps<Value extends string> = Readonly<{
  legend: string;
  value: Value | undefined;
  options: readonly (readonly [value: Value, content: ReactNode])[];
  onChange: (value: Value) => void;
}>;

export function Radios<Value extends string>({ legend, value, options, onChange }: RadiosProps<Value>): ReactNode {
  const name = useId();
  return (
    <fieldset className="grid min-w-0 gap-1.5">
      <legend className="mb-1 font-medium">{legend}</legend>
      {options.map(([id, content]) => (
        <label key={id} className="flex items-start gap-2">
          <input
            type="radio"
            name={name}
            checked={value === id}
            onChange={() => onChange(id)}
            className="mt-1 accent-accent"
          />
          <span className="min-w-0">{content}</span>
        </label>
      ))}
    </fieldset>
  );
}

type ToggleProps = Readonly<{ isOn: boolean; title?: string; onClick: () => void; children: ReactNode }>;

/** A button that is on or off. */
export function Toggle({ isOn, title, onClick, children }: ToggleProps): ReactNode {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={title}
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

type SearchFieldProps = Readonly<{
  label: string;
  placeholder: string;
  words: string;
  onChange: (words: string) => void;
}>;

/** At the head of a list. */
export function SearchField({ label, placeholder, words, onChange }: SearchFieldProps): ReactNode {
  return (
    <div className="border-b border-line p-3">
      <input
        type="search"
        className="input"
        aria-label={label}
        placeholder={placeholder}
        value={words}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}
