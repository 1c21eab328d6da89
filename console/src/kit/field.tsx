import { type ReactElement, type ReactNode, useId } from "react";

interface Wired {
  readonly id: string;
  readonly "aria-invalid"?: true | undefined;
  readonly "aria-describedby"?: string | undefined;
}

/** A label, its control, a hint and what is wrong: wired for screen readers. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly children: (wired: Wired) => ReactElement;
}): ReactNode {
  const id = useId();
  const isTold = hint !== undefined || error !== undefined;
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({
        id,
        "aria-invalid": error === undefined ? undefined : true,
        "aria-describedby": isTold ? `${id}-more` : undefined,
      })}
      {isTold && (
        <p id={`${id}-more`} className={error === undefined ? "text-ink-3" : "text-critical"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}
