import type { ErrorComponentProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorState, NotLoaded } from "../kit/index.ts";

/** Shown instead of a screen that failed; the bar and the navigation stay. */
export function ScreenError({ error, reset }: ErrorComponentProps): ReactNode {
  const again = async (): Promise<void> => {
    if (error instanceof NotLoaded) await error.again();
    reset();
  };
  return <ErrorState error={error} retry={() => void again()} />;
}
