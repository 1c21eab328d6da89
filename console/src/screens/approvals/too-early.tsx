import type { ReactNode } from "react";
import type { Armed } from "./use-armed.ts";

/** Why the buttons do nothing yet, for who does not see it. */
export const tooEarly = "This has just appeared: its buttons and keys work in a second.";

export function TooEarly({ armed: { isArmed } }: { readonly armed: Armed }): ReactNode {
  return (
    <p role="status" className="sr-only">
      {!isArmed && tooEarly}
    </p>
  );
}
