import { type ReactNode, useId, useState } from "react";
import { Button } from "./button.tsx";
import { LargeText, mostInControl } from "./large-text.tsx";
import { Text, Unseen } from "./text.tsx";

/** What a form can be made of; all else of a schema is edited as JSON, and the server checks everything. */
export type Schema = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

export interface SchemaFormProps {
  readonly schema: Schema | undefined;
  readonly value: Fields;
  readonly onChange: (value: Fields) => void;
  /** What was asked for: a field that differs from it says so. */
  readonly compare?: Fields | undefined;
}

/** One control a property: text, number, yes or no, one of a list; JSON for what is deeper. Unknown properties stay in sight. */
export function SchemaForm({ schema, value, onChange, compare }: SchemaFormProps): ReactNode {
  const properties = objectOf(schema?.["properties"]);
  const required = new Set(Array.isArray(schema?.["required"]) ? schema["required"] : []);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(value)])];
  if (names.length === 0) return <p className="text-ink-2">This tool takes no arguments.</p>;
  const set = (name: string, next: unknown): void => {
    const { [name]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div className="grid gap-3.5">
      {names.slice(0, mostFields).map((name) => (
        <Property
          key={name}
          name={name}
          schema={objectOf(properties[name])}
          isRequired={required.has(name)}
          isChanged={compare !== undefined && !isSame(compare[name], value[name])}
          value={Object.hasOwn(value, name) ? value[name] : undefined}
          onChange={(next) => set(name, next)}
        />
      ))}
      {names.length > mostFields && (
        <p className="text-ink-2">{names.length - mostFields} more are not shown here; they stay as they are.</p>
      )}
    </div>
  );
}

const mostFields = 100;

/** What was not touched is the same object: nothing long is compared at every key. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

interface PropertyProps {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly isChanged: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function Property({ name, schema, isRequired, isChanged, value, onChange }: PropertyProps): ReactNode {
  const id = useId();
  const description = schema["description"];
  return (
    <div className="grid gap-1">
      <div className="flex flex-wrap items-baseline gap-x-2">
        <label htmlFor={id} className="font-medium">
          <Text>{name}</Text>
        </label>
        {isRequired && <span className="text-[0.8571rem] text-ink-3">required</span>}
        {isChanged && <span className="text-[0.8571rem] font-medium text-accent">changed</span>}
        {!isRequired && value !== undefined && (
          <Button look="plain" size="small" className="ml-auto" onClick={() => onChange(undefined)}>
            Leave out
          </Button>
        )}
      </div>
      <Control id={id} name={name} schema={schema} value={value} onChange={onChange} />
      <Unseen text={asText(value)} />
      {typeof description === "string" && (
        <p id={`${id}-more`} className="text-ink-3">
          <Text limit={400}>{description}</Text>
        </p>
      )}
    </div>
  );
}

interface ControlProps {
  readonly id: string;
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function Control({ id, name, schema, value, onChange }: ControlProps): ReactNode {
  const [long] = useState(() => longText(value)); // as it came: what somebody types does not close under their hands
  const choices = schema["enum"];
  const kind = schema["type"] ?? kindOf(value);
  if (long !== undefined) return <LargeText id={id} label={name} text={long} fileName="argument.txt" />;
  if (Array.isArray(choices) && (value === undefined || choices.includes(value))) {
    return <Choice id={id} choices={choices} value={value} onChange={onChange} />;
  }
  if (kind === "boolean" && (value === undefined || typeof value === "boolean")) {
    return <Choice id={id} choices={[true, false]} value={value} onChange={onChange} />;
  }
  if ((kind === "number" || kind === "integer") && (value === undefined || typeof value === "number")) {
    return (
      <input
        id={id}
        type="number"
        step={kind === "integer" ? 1 : "any"}
        className="input tabular"
        value={value === undefined ? "" : String(value)}
        onChange={({ target }) => onChange(target.value === "" ? undefined : target.valueAsNumber)}
      />
    );
  }
  if (kind === "string" && (value === undefined || typeof value === "string")) {
    return <TextArea id={id} value={value ?? ""} onChange={onChange} />;
  }
  return <JsonArea key={typeof value} id={id} value={value} onChange={onChange} />;
}

/** Undefined: it fits into a control. */
function longText(value: unknown): string | undefined {
  const text = asText(value);
  return text.length > mostInControl ? text : undefined;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

function Choice({
  id,
  choices,
  value,
  onChange,
}: Omit<ControlProps, "schema" | "name"> & { readonly choices: readonly unknown[] }): ReactNode {
  return (
    <select
      id={id}
      className="input"
      value={value === undefined ? "" : String(choices.indexOf(value))}
      onChange={({ target }) => onChange(target.value === "" ? undefined : choices[Number(target.value)])}
    >
      <option value="">(left out)</option>
      {choices.map((choice, at) => (
        <option key={JSON.stringify(choice)} value={at}>
          {typeof choice === "string" ? choice : JSON.stringify(choice)}
        </option>
      ))}
    </select>
  );
}

function TextArea({
  id,
  value,
  onChange,
}: {
  readonly id: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const rows = Math.min(14, Math.max(1, value.split("\n").length, Math.ceil(value.length / 60)));
  return (
    <textarea
      id={id}
      rows={rows}
      spellCheck={false}
      className="input mono"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** Text that is JSON, or not yet: what is not does not leave the field, and the field says so. */
function JsonArea({ id, value, onChange }: Omit<ControlProps, "schema" | "name">): ReactNode {
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  const change = (target: HTMLTextAreaElement): void => {
    try {
      onChange(target.value.trim() === "" ? undefined : JSON.parse(target.value));
      target.setCustomValidity("");
    } catch {
      target.setCustomValidity("This is not JSON yet."); // still being typed
    }
    target.setAttribute("aria-invalid", String(!target.validity.valid));
  };
  return (
    <textarea
      id={id}
      rows={Math.min(14, text.split("\n").length + 1)}
      spellCheck={false}
      className="input mono"
      defaultValue={text}
      onChange={({ target }) => change(target)}
    />
  );
}

function kindOf(value: unknown): string {
  if (value === null || Array.isArray(value)) return "json";
  return typeof value === "object" ? "json" : typeof value;
}

function objectOf(value: unknown): Schema {
  // A JSON object's names are strings.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
