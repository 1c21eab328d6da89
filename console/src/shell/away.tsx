import { type ReactNode, useEffect, useState } from "react";
import { Icon } from "../kit/icons.tsx";
import { useLiveState } from "../live/feed.ts";

/** A break that is over before anybody reads of it is not told. */
const toldAfterMs = 1_500;

/** Over every screen while Postern does not answer: what one sees may be old. */
export function Away(): ReactNode {
  const isAway = useLiveState() === "reconnecting";
  const [isTold, setIsTold] = useState(false);
  useEffect(() => {
    if (!isAway) return setIsTold(false);
    const timer = setTimeout(() => setIsTold(true), toldAfterMs);
    return () => clearTimeout(timer);
  }, [isAway]);
  return (
    <div role="status" className="bg-medium-tint text-medium empty:hidden">
      {isTold && (
        <p className="flex items-start gap-2 px-4 py-2">
          <span className="mt-0.5">
            <Icon name="warning" />
          </span>
          Postern does not answer, and is asked again and again. What you see may be old; nothing you decide is lost or
          done twice.
        </p>
      )}
    </div>
  );
}
