import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icons.tsx";
import { SharedValue, useShared } from "./shared-value.ts";
import { Text } from "./text.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const toasts = new SharedValue<readonly Toast[]>([]);
let next = 1;

/** Says what happened, for a few seconds; errors longer. Announced to screen readers. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  const id = next;
  next += 1;
  toasts.set([...toasts.value.slice(-2), { id, text, tone }]);
  setTimeout(() => toasts.set(toasts.value.filter((one) => one.id !== id)), tone === "good" ? 4_000 : 9_000);
}

export function Toasts(): ReactNode {
  const shown = useShared(toasts, (all) => all);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-20 z-50 grid justify-items-center gap-2 px-4 lg:bottom-6"
    >
      {shown.map(({ id, text, tone }) => (
        <div
          key={id}
          className="flex max-w-md items-start gap-2 rounded-lg border border-line bg-raised px-3 py-2 shadow-over"
        >
          <span className={classNames("mt-0.5", tone === "good" ? "text-safe" : "text-critical")}>
            <Icon name={tone === "good" ? "check" : "warning"} />
          </span>
          <Text>{text}</Text>
        </div>
      ))}
    </div>
  );
}
