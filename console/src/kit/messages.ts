import type { ReactNode } from "react";
import { SharedValue } from "./shared-value.ts";

export interface Toast {
  readonly text: string;
  readonly tone: "good" | "bad";
  /** Below the text: it may change while the message is shown, which is longer then. */
  readonly more?: ReactNode;
}

/** Not shown yet. */
export const waitingToasts = new SharedValue<readonly Toast[]>([]);

/** Says what happened, for a few seconds; errors longer. Announced to screen readers, and dismissed by a button. */
export function toast(text: string, tone: Toast["tone"] = "good", more?: ReactNode): void {
  waitingToasts.set([...waitingToasts.value, { text, tone, more }]);
}
