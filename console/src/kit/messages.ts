import { SharedValue } from "./shared-value.ts";

export interface Toast {
  readonly text: string;
  readonly tone: "good" | "bad";
  /** A button beside the text. */
  readonly action?: { readonly word: string; readonly act: () => void } | undefined;
}

/** Not shown yet. */
export const waitingToasts = new SharedValue<readonly Toast[]>([]);

/** Says what happened, for a few seconds; errors longer. Announced to screen readers, and dismissed by a button. */
export function toast(text: string, tone: Toast["tone"] = "good", action?: Toast["action"]): void {
  waitingToasts.set([...waitingToasts.value, { text, tone, action }]);
}
