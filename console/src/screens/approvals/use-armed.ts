import { useEffect, useState } from "react";

/** Longer than the second half of a double-click, also of a slow hand. */
const quietMs = 1_000;

/** When it was pressed, which may be long before the page comes to it. */
export type Press = Pick<Event, "timeStamp">;

export interface Armed {
  readonly isArmed: boolean;
  /** Whether this press was made since then: one that a busy page comes to late is still one of before. */
  readonly takes: (press: Press) => boolean;
  /** Another one whenever the wait begins anew. */
  readonly round: string;
  /** Somebody pressed before it was armed: the wait begins anew. */
  readonly tooEarly: () => void;
}

/**
 * What has just appeared under a hand that meant something else takes no press: only when nobody has tried for a second.
 * @param what another one is disarmed at once, before it is drawn
 */
export function useArmed(what: string): Armed {
  const [tries, setTries] = useState(0);
  const [armed, setArmed] = useState<{ readonly round: string; readonly at: number }>();
  const round = `${tries} ${what}`;
  useEffect(() => {
    const timer = setTimeout(() => setArmed({ round, at: performance.now() }), quietMs);
    return () => clearTimeout(timer);
  }, [round]);
  const since = armed?.round === round ? armed.at : Number.POSITIVE_INFINITY;
  return {
    isArmed: since < Number.POSITIVE_INFINITY,
    takes: ({ timeStamp }) => timeStamp >= since,
    round,
    tooEarly: () => setTries((count) => count + 1),
  };
}
