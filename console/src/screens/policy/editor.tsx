import { type ReactNode, useRef } from "react";
import { Unseen } from "../../kit/text.tsx";

/** Plain text with its lines numbered as in the file: what the server says of line 12 stands at line 12. */
export function Editor({
  value,
  first,
  onChange,
}: {
  readonly value: string;
  /** The number of the first line. */
  readonly first: number;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const numbers = useRef<HTMLPreElement>(null);
  const lines = value.split("\n").length;
  return (
    <>
      <div className="mono flex h-[28rem] leading-6">
        <pre
          ref={numbers}
          aria-hidden="true"
          className="min-w-10 overflow-hidden border-r border-line bg-sunken py-2 pr-2 text-right text-ink-3 select-none"
        >
          {Array.from({ length: lines }, (_, at) => `${first + at}\n`).join("")}
        </pre>
        <textarea
          aria-label="The policy, as YAML"
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          className="min-w-0 flex-1 resize-none overflow-auto bg-surface px-3 py-2 text-ink outline-offset-[-2px]"
          value={value}
          onChange={({ target }) => onChange(target.value)}
          onScroll={({ currentTarget }) => {
            if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop;
          }}
        />
      </div>
      <Unseen text={value} />
    </>
  );
}
