import { useEffect, useState } from "react";

/** Longer than the second half of a double-click, also of a slow hand. */
const quietMs = 1_000;

export interface Armed {
  readonly isArmed: boolean;
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
  const [armed, setArmed] = useState<string>();
  const round = `${tries} ${what}`;
  useEffect(() => {
    const timer = setTimeout(() => setArmed(round), quietMs);
    return () => clearTimeout(timer);
  }, [round]);
  return { isArmed: armed === round, round, tooEarly: () => setTries((count) => count + 1) };
}
