import { type ReactNode, useState } from "react";
import { Icon } from "./icons.tsx";

export function Copy({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
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
      className="inline-grid size-6 place-items-center rounded text-ink-3 hover:bg-hover hover:text-ink"
    >
      <Icon name={copied ? "check" : "copy"} size={13} />
    </button>
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
