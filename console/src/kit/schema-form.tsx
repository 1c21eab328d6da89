import { type ReactNode, useId } from "react";
import { Button } from "./button.tsx";
import { LargeText, mostInControl } from "./copy.tsx";
import {
  type Entered,
  type Fields,
  isSame,
  own,
  type Written,
  type WrittenAs,
  withText,
  withValue,
} from "./entered.ts";
import { Text, Unseen } from "./text.tsx";

/** A JSON schema. Only its simple properties get controls of their own; the server checks everything. */
export type Schema = Readonly<Record<string, unknown>>;

interface SchemaFormProps {
  readonly schema: Schema | undefined;
  readonly entered: Entered;
  readonly onChange: (entered: Entered) => void;
  /** The arguments as they were sent: a field that differs is marked. */
  readonly compare?: Fields | undefined;
}

/** One control for each property; JSON for nested ones. Properties that the schema does not have are shown too. */
export function SchemaForm({ schema, entered, onChange, compare }: SchemaFormProps): ReactNode {
  const properties = objectOf(schema?.["properties"]);
  const required = new Set(Array.isArray(schema?.["required"]) ? schema["required"] : []);
  const { values, written } = entered;
  const names = [...new Set([...Object.keys(properties), ...Object.keys(values), ...written.keys()])];
  if (names.length === 0) return <p className="text-ink-2">This tool takes no arguments.</p>;
  return (
    <div className="grid gap-3.5">
      {names.slice(0, mostFields).map((name) => (
        <Property
          key={name}
          name={name}
          schema={objectOf(own(properties, name))}
          isRequired={required.has(name)}
          isChanged={compare !== undefined && !isSame(own(compare, name), own(values, name))}
          value={own(values, name)}
          written={written.get(name)}
          onChoose={(value) => onChange(withValue(entered, name, value))}
          onWrite={(text, as) => onChange(withText(entered, name, { text, as }))}
        />
      ))}
      {names.length > mostFields && (
        <p className="text-ink-2">{names.length - mostFields} more are not shown here; they stay as they are.</p>
      )}
    </div>
  );
}

const mostFields = 100;

interface PropertyProps {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly isChanged: boolean;
  readonly value: unknown;
  readonly written: Written | undefined;
  readonly onChoose: (value: unknown) => void;
  readonly onWrite: (text: string, as: WrittenAs) => void;
}

function Property({ isRequired, isChanged, ...field }: PropertyProps): ReactNode {
  const { name, schema, value, written, onChoose } = field;
  const id = useId();
  const description = schema["description"];
  const problem = written?.problem;
  const isTold = problem !== undefined || typeof description === "string";
  return (
    <div className="grid gap-1">
      <div className="flex flex-wrap items-baseline gap-x-2">
        <label htmlFor={id} className="font-medium">
          <Text>{name}</Text>
        </label>
        {isRequired && <span className="text-[0.8571rem] text-ink-3">required</span>}
        {isChanged && <span className="text-[0.8571rem] font-medium text-accent">changed</span>}
        {!isRequired && (value !== undefined || problem !== undefined) && (
          <Button look="plain" size="small" className="ml-auto" onClick={() => onChoose(undefined)}>
            Leave out
          </Button>
        )}
      </div>
      <Control id={id} describedBy={isTold ? `${id}-more` : undefined} {...field} />
      <Unseen text={written?.text ?? asText(value)} />
      {isTold && (
        <div id={`${id}-more`}>
          {problem !== undefined && (
            <p role="alert" className="text-critical">
              <Text limit={400}>{problem}</Text>
            </p>
          )}
          {typeof description === "string" && (
            <p className="text-ink-3">
              <Text limit={400}>{description}</Text>
            </p>
          )}
        </div>
      )}
    </div>
  );
}

type ControlProps = Omit<PropertyProps, "isRequired" | "isChanged"> & {
  readonly id: string;
  readonly describedBy: string | undefined;
};

/** A control keeps its kind while a person types in it; otherwise the value decides. */
function Control(props: ControlProps): ReactNode {
  const { id, name, schema, value, written } = props;
  if (written !== undefined) return <Writing {...props} {...written} />;
  const text = asText(value);
  const choices = schema["enum"];
  const kind = schema["type"] ?? kindOf(value);
  if (text.length > mostInControl) return <LargeText id={id} label={name} text={text} fileName="argument.txt" />;
  if (Array.isArray(choices) && (value === undefined || choices.includes(value)))
    return <Choice {...props} choices={choices} />;
  if (kind === "boolean" && (value === undefined || typeof value === "boolean"))
    return <Choice {...props} choices={[true, false]} />;
  if ((kind === "number" || kind === "integer") && (value === undefined || typeof value === "number"))
    return <Writing {...props} text={text} as={kind} />;
  if (kind === "string" && (value === undefined || typeof value === "string"))
    return <Writing {...props} text={text} as="text" />;
  return <Writing {...props} text={value === undefined ? "" : JSON.stringify(value, null, 2)} as="json" />;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

function Writing({ id, describedBy, text, as, problem, onWrite }: ControlProps & Written): ReactNode {
  const wired = {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": problem === undefined ? undefined : true,
    spellCheck: false,
    value: text,
  };
  if (as === "number" || as === "integer")
    return (
      <input
        {...wired}
        inputMode={as === "integer" ? "numeric" : "decimal"}
        autoComplete="off"
        className="input tabular"
        onChange={({ target }) => onWrite(target.value, as)}
      />
    );
  const lines = text.split("\n").length;
  const rows = as === "json" ? lines + 1 : Math.max(1, lines, Math.ceil(text.length / 60));
  return (
    <textarea
      {...wired}
      rows={Math.min(14, rows)}
      className="input mono"
      onChange={({ target }) => onWrite(target.value, as)}
    />
  );
}

function Choice({
  id,
  describedBy,
  choices,
  value,
  onChoose,
}: ControlProps & { readonly choices: readonly unknown[] }): ReactNode {
  return (
    <select
      id={id}
      aria-describedby={describedBy}
      className="input"
      value={value === undefined ? "" : String(choices.indexOf(value))}
      onChange={({ target }) => onChoose(target.value === "" ? undefined : choices[Number(target.value)])}
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

function kindOf(value: unknown): string {
  return typeof value === "object" || value === undefined ? "json" : typeof value;
}

function objectOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
