import { type ReactNode, useSyncExternalStore } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icons.tsx";
import { Text } from "./text.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(list: readonly Toast[]): void {
  toasts = list;
  for (const listener of listeners) listener();
}

/** Says what happened, for a few seconds; errors longer. Announced to screen readers. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  const id = next;
  next += 1;
  set([...toasts.slice(-2), { id, text, tone }]);
  setTimeout(() => set(toasts.filter((one) => one.id !== id)), tone === "good" ? 4_000 : 9_000);
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
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
