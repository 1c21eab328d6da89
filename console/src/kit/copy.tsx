import { type ReactNode, useState } from "react";
import { request } from "../api/client.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icons.tsx";
import { Text } from "./text.tsx";

type CopyProps = Readonly<{
  text: string;
  label: string;
  /** Beside the icon; part of the label. */
  word?: string;
}>;

export function Copy({ text, label, word }: CopyProps): ReactNode {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      setCopied(false); // the browser refuses; the text can still be selected
    }
  };
  return (
    <button
      type="button"
      title={copied ? "Copied" : label}
      aria-label={copied ? "Copied" : label}
      onClick={() => void copy()}
      className="inline-flex h-6 min-w-6 items-center justify-center gap-1 rounded px-1 text-ink-3 hover:bg-hover hover:text-ink"
    >
      <Icon name={copied ? "check" : "copy"} size={13} />
      {copied && word !== undefined ? "Copied" : word}
    </button>
  );
}

/** One line to copy. */
export function CopyLine({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  return (
    <p className="flex items-center gap-2 rounded-md bg-sunken px-3 py-1.5">
      <code className="mono min-w-0 flex-1">
        <Text>{text}</Text>
      </code>
      <Copy text={text} label={`Copy ${what}`} word="Copy" />
    </p>
  );
}

/** A digest or an id, shortened; the whole of it on hover and by copy. */
export function Hash({ value, label = "digest" }: { readonly value: string; readonly label?: string }): ReactNode {
  return (
    <span className="inline-flex items-center gap-0.5">
      <code className="mono" title={value}>
        {value.length > 20 ? `${value.slice(0, 12)}…${value.slice(-4)}` : value}
      </code>
      <Copy text={value} label={`Copy the ${label}`} />
    </span>
  );
}

type TextActionsProps = Readonly<{ text: string; what: string; fileName: string }>;

/** Copies a text, or saves it as a file. */
export function TextActions({ text, what, fileName }: TextActionsProps): ReactNode {
  return (
    <>
      <Copy text={text} label={`Copy ${what}`} />
      <Button
        look="plain"
        size="small"
        icon="download"
        aria-label={`Download ${what}`}
        className="-my-1"
        onClick={() => saveText(text, fileName)}
      />
    </>
  );
}

/** Characters. A control with more stalls the page for seconds. */
export const mostInControl = 100_000;
const mostShown = 4_000;

type LargeTextProps = Readonly<{ id?: string; label: string; text: string; fileName: string }>;

/** For a text too long for a control: its start, and all of it as a file. */
export function LargeText({ id, label, text, fileName }: LargeTextProps): ReactNode {
  return (
    <div className="grid justify-items-start gap-1.5">
      <Preformatted id={id} label={label} lines limit={mostShown}>
        {text}
      </Preformatted>
      <p className="text-ink-2">
        {text.length.toLocaleString("en")} characters: too long to be changed here. It stays as it is.
      </p>
      <Button size="small" icon="download" onClick={() => saveText(text, fileName)}>
        Download all of it
      </Button>
    </div>
  );
}

type PreformattedProps = Readonly<{
  id?: string | undefined;
  label: string;
  lines?: boolean;
  limit?: number;
  children: string;
}>;

/** A text that scrolls within itself. */
export function Preformatted({ id, label, lines = false, limit = 100_000, children }: PreformattedProps): ReactNode {
  return (
    <section
      id={id}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="mono max-h-96 w-full overflow-auto rounded-md bg-sunken px-3 py-2 leading-relaxed whitespace-pre-wrap in-[.bg-sunken]:bg-canvas"
    >
      <Text lines={lines} limit={limit}>
        {children}
      </Text>
    </section>
  );
}

/** Saves a file. A plain link would be sent without the session's proof. @throws Problem */
export async function save(path: string, fileName: string): Promise<void> {
  const response = await request("GET", path, { headers: { accept: "*/*" } });
  saveBlob(await response.blob(), fileName);
}

/** Saves what the page has already. */
function saveText(text: string, fileName: string): void {
  saveBlob(new Blob([text], { type: "text/plain" }), fileName);
}

function saveBlob(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // some browsers begin to read it later
}
