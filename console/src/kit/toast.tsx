import { type ReactNode, useEffect, useState } from "react";
import { whenIdle } from "./idle.ts";
import { waitingToasts } from "./messages.ts";
import { useShared } from "./shared-value.ts";

/** Once for the page. It is loaded after the first screen, or with the first message. */
export function Toasts(): ReactNode {
  const [View, setView] = useState<() => ReactNode>();
  const isWanted = useShared(waitingToasts, (waiting) => waiting.length > 0);
  useEffect(() => {
    if (View !== undefined) return;
    const load = (): void =>
      void import("./toast-view.tsx").then(
        ({ ToastView }) => setView(() => ToastView),
        () => undefined, // tried again with the next message
      );
    if (isWanted) load();
    else whenIdle(load);
  }, [View, isWanted]);
  return View !== undefined && <View />;
}
