import { type ReactNode, useId } from "react";

type HintProps = Readonly<{ children: ReactNode; hint: ReactNode }>;

/** Words whose explanation opens at a press: by touch and with the keyboard too. Escape and a press outside close it. */
export function Hint({ children, hint }: HintProps): ReactNode {
  const id = useId();
  return (
    <>
      <button
        type="button"
        popoverTarget={id}
        className="text-left underline decoration-dotted underline-offset-4 hover:text-ink"
      >
        {children}
      </button>
      <div id={id} popover="auto" className="hint">
        {hint}
      </div>
    </>
  );
}
