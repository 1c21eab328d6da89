import { type ReactNode, useState } from "react";
import { Text } from "./text.tsx";

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/**
 * JSON as a tree of text nodes, names in the order of the value. Strings go through `Text`, so nothing in them can
 * break out, hide or reorder. Long strings and large arrays open on demand.
 */
export function Json({ value }: { readonly value: unknown }): ReactNode {
  return (
    <pre className="mono overflow-x-auto rounded-md bg-sunken px-3 py-2 leading-relaxed whitespace-pre-wrap">
      <Value value={value} indent={0} />
    </pre>
  );
}

function Value({ value, indent }: { readonly value: unknown; readonly indent: number }): ReactNode {
  if (typeof value === "string") return <LongString value={value} />;
  if (Array.isArray(value))
    return <Members open="[" close="]" members={value.map((item) => [undefined, item])} indent={indent} />;
  if (typeof value === "object" && value !== null) {
    return <Members open="{" close="}" members={Object.entries(value)} indent={indent} />;
  }
  return <span className="text-accent">{String(value)}</span>;
}

const mostMembers = 100;

function Members({
  open,
  close,
  members,
  indent,
}: {
  readonly open: string;
  readonly close: string;
  readonly members: readonly (readonly [name: string | undefined, value: unknown])[];
  readonly indent: number;
}): ReactNode {
  const [all, setAll] = useState(false);
  if (members.length === 0) return `${open}${close}`;
  const shown = all ? members : members.slice(0, mostMembers);
  const pad = "  ".repeat(indent + 1);
  return (
    <>
      {open}
      {shown.map(([name, item], at) => (
        <span key={name ?? at}>
          {`\n${pad}`}
          {name !== undefined && (
            <>
              <span className="text-ink-2">
                <Text>{JSON.stringify(name)}</Text>
              </span>
              {": "}
            </>
          )}
          <Value value={item} indent={indent + 1} />
          {at < members.length - 1 && ","}
        </span>
      ))}
      {shown.length < members.length && (
        <button type="button" className="block pl-4 text-accent underline" onClick={() => setAll(true)}>
          {members.length - shown.length} more
        </button>
      )}
      {`\n${"  ".repeat(indent)}${close}`}
    </>
  );
}

const mostCharacters = 2_000;

function LongString({ value }: { readonly value: string }): ReactNode {
  const [all, setAll] = useState(false);
  const isLong = value.length > mostCharacters && !all;
  return (
    <span className="text-safe">
      {/* Escapes as JSON has them; what JSON leaves bare (bidi marks, zero widths) is marked by Text. */}
      <Text limit={Number.POSITIVE_INFINITY}>
        {isLong ? JSON.stringify(value).slice(0, mostCharacters) : JSON.stringify(value)}
      </Text>
      {isLong && (
        <button type="button" className="text-accent underline" onClick={() => setAll(true)}>
          … all {value.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}
