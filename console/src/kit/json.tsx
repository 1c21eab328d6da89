import { Fragment, type ReactNode, useState } from "react";
import { Text } from "./text.tsx";

/**
 * JSON as a tree of text nodes. Strings go through `Text`, so nothing in them can break out, hide or reorder. Long
 * strings and large arrays open on demand.
 */
export function Json({ value }: { readonly value: unknown }): ReactNode {
  return (
    <pre className="mono overflow-x-auto rounded-md bg-sunken px-3 py-2 leading-relaxed whitespace-pre-wrap in-[.bg-sunken]:bg-canvas">
      <Value value={value} indent={0} room={mostValues} />
    </pre>
  );
}

/** Values shown at first; each press shows as many more. */
const mostValues = 4_000;
/** Deeper levels open on demand. */
const mostLevels = 100;

interface Placed {
  readonly indent: number;
  /** How many values may be shown within it. */
  readonly room: number;
}

function Value({ value, indent, room }: Placed & { readonly value: unknown }): ReactNode {
  if (typeof value === "string") return <LongString value={value} />;
  if (Array.isArray(value))
    return <Members open="[" close="]" members={value.map((item) => [undefined, item])} indent={indent} room={room} />;
  if (typeof value === "object" && value !== null) {
    return <Members open="{" close="}" members={Object.entries(value)} indent={indent} room={room} />;
  }
  return <span className="text-accent">{String(value)}</span>;
}

const mostMembers = 100;

type MembersProps = Placed &
  Readonly<{ open: string; close: string; members: readonly (readonly [name: string | undefined, value: unknown])[] }>;

function Members({ open, close, members, indent, room }: MembersProps): ReactNode {
  const [opened, setOpened] = useState(0);
  if (members.length === 0) return `${open}${close}`;
  const shown = members.slice(0, Math.min(mostMembers, Math.floor(room)) + opened * mostMembers);
  const isDeep = indent % mostLevels === mostLevels - 1;
  const within = opened > 0 ? mostValues : isDeep ? 0 : room;
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
                {'"'}
                <Escaped text={name} />
                {'"'}
              </span>
              {": "}
            </>
          )}
          <Value value={item} indent={indent + 1} room={within / shown.length - 1} />
          {at < members.length - 1 && ","}
        </span>
      ))}
      {shown.length < members.length && (
        <button
          type="button"
          className="block pl-4 text-accent underline"
          onClick={() => setOpened((count) => count + 1)}
        >
          {members.length - shown.length} more
        </button>
      )}
      {`\n${"  ".repeat(indent)}${close}`}
    </>
  );
}

/** What JSON writes as an escape with letters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for; DEL and later controls stay bare
const escaped = /([\u0000-\u001f\p{Cs}]+)/u;

/**
 * Escapes as JSON has them; what JSON leaves bare (bidi marks, zero widths) is marked by Text. Each line is isolated, so
 * that its direction moves nothing else, and no letter of an escape counts to the word beside it.
 */
function Escaped({ text }: { readonly text: string }): ReactNode {
  const parts = text.split(escaped);
  return parts.map((part, at) => {
    if (part === "") return null;
    const shown = JSON.stringify(part).slice(1, -1);
    if (at % 2 === 1) return <Fragment key={at}>{shown}</Fragment>;
    return (
      <Text key={at} limit={Number.POSITIVE_INFINITY}>
        {shown}
      </Text>
    );
  });
}

const mostCharacters = 2_000;
const mostOpened = 100_000;

function LongString({ value }: { readonly value: string }): ReactNode {
  const [all, setAll] = useState(false);
  const most = all ? mostOpened : mostCharacters;
  const isLong = value.length > most;
  const left = value.length - mostOpened;
  return (
    <span className="text-safe">
      {'"'}
      <Escaped text={isLong ? value.slice(0, most) : value} />
      {!isLong && '"'}
      {isLong && all && (
        <span className="text-ink-3"> … {left.toLocaleString("en")} more characters: copy or download them</span>
      )}
      {isLong && !all && (
        <button type="button" className="text-accent underline" onClick={() => setAll(true)}>
          … {left > 0 ? `${mostOpened.toLocaleString("en")} of` : "all"} {value.length.toLocaleString("en")} characters
        </button>
      )}
    </span>
  );
}
