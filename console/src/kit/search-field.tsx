import type { ReactNode } from "react";

/** At the head of a list: words that leave in it what holds them. */
export function SearchField({
  label,
  placeholder,
  words,
  onChange,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly words: string;
  readonly onChange: (words: string) => void;
}): ReactNode {
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
