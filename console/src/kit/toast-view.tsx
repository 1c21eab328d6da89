import { Toast } from "@base-ui/react/toast";
import { type ReactNode, useEffect } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icons.tsx";
import { type Toast as Message, waitingToasts } from "./messages.ts";
import { useShared } from "./shared-value.ts";
import { Text } from "./text.tsx";

/** The library calls it a dialog, but nothing in it must be answered. */
const asGroup = { role: "group", "aria-modal": undefined, "aria-label": "Message" } as const;
const shownMs = { good: 5_000, bad: 10_000 };
const withMoreMs = 15_000;

export function ToastView(): ReactNode {
  return (
    <Toast.Provider limit={3}>
      <Toast.Viewport className="fixed inset-x-3 top-14 z-50 flex flex-col items-end gap-2 sm:left-auto sm:w-96">
        <Messages />
      </Toast.Viewport>
    </Toast.Provider>
  );
}

/** Under the top bar: the buttons that decide are at the bottom. */
function Messages(): ReactNode {
  const { toasts, add, close } = Toast.useToastManager<Message>();
  const waiting = useShared(waitingToasts, (all) => all);
  useEffect(() => {
    if (waiting.length === 0) return;
    waitingToasts.set([]);
    for (const message of waiting)
      add({
        data: message,
        timeout: message.more === undefined ? shownMs[message.tone] : withMoreMs,
        priority: message.tone === "bad" ? "high" : "low",
      });
  }, [waiting, add]);
  return toasts.map((one) => {
    const { text, tone, more } = one.data ?? { text: "", tone: "good", more: undefined };
    const isGood = tone === "good";
    return (
      <Toast.Root
        key={one.id}
        toast={one}
        {...asGroup}
        swipeDirection={["up", "right"]}
        className={classNames(
          "w-full rounded-lg border border-line bg-raised shadow-over data-limited:hidden",
          "translate-x-[var(--toast-swipe-movement-x)] translate-y-[var(--toast-swipe-movement-y)]",
        )}
      >
        <Toast.Content className="flex items-start gap-2 py-2 pr-1.5 pl-3">
          <span className={classNames("mt-0.5", isGood ? "text-safe" : "text-critical")}>
            <Icon name={isGood ? "check" : "warning"} />
          </span>
          <Toast.Description className="min-w-0 flex-1">
            <Text>{text}</Text>
            {more}
          </Toast.Description>
          {/* The library hides its own from screen readers until the list has the focus. */}
          <button
            type="button"
            aria-label="Dismiss"
            className="grid size-6 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover max-sm:size-11"
            onClick={() => close(one.id)}
          >
            <Icon name="cross" size={14} />
          </button>
        </Toast.Content>
      </Toast.Root>
    );
  });
}
