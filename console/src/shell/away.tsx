import { type ReactNode, useEffect, useState } from "react";
import { Icon } from "../kit/index.ts";
import { useLiveState } from "../live/feed.ts";

/** A short break is not shown. */
const shownAfterMs = 1_500;

/** Above every screen while Postern does not answer. */
export function Away(): ReactNode {
  const isAway = useLiveState() === "reconnecting";
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    if (!isAway) return setIsShown(false);
    const timer = setTimeout(() => setIsShown(true), shownAfterMs);
    return () => clearTimeout(timer);
  }, [isAway]);
  return (
    <div role="status" className="bg-medium-tint text-medium empty:hidden">
      {isShown && (
        <p className="flex items-start gap-2 px-4 py-2">
          <span className="mt-0.5">
            <Icon name="warning" />
          </span>
          Postern does not answer; this page keeps trying. What you see may be old; nothing you decide is lost or done
          twice.
        </p>
      )}
    </div>
  );
}
