import { type ReactNode, useState } from "react";
import type { Alarm } from "../api/alarms.ts";
import { Button } from "../kit/button.tsx";
import { EmptyState, NotYet } from "../kit/states.tsx";
import { AlarmItem } from "./alarm-item.tsx";

/** Those that stand; those that are over when they are asked for. */
export function AlarmList({
  alarms,
  error,
  retry,
  onClose,
}: {
  readonly alarms: readonly Alarm[] | undefined;
  readonly error: unknown;
  readonly retry: () => void;
  /** Of the dialog it stands in. */
  readonly onClose?: () => void;
}): ReactNode {
  const [isPastShown, setIsPastShown] = useState(false);
  if (alarms === undefined) return <NotYet error={error} again={retry} rows={2} />;
  const standing = alarms.filter(({ state }) => state !== "resolved");
  const past = alarms.filter(({ state }) => state === "resolved");
  return (
    <>
      {standing.length === 0 && (
        <EmptyState title="All quiet">
          Repeated errors, expiring tokens, storms of requests, changed tools and channels that take nothing would be
          told here.
        </EmptyState>
      )}
      <ul className="grid gap-3 empty:hidden">
        {[...standing, ...(isPastShown ? past : [])].map((alarm) => (
          <AlarmItem key={alarm.alarm_id} alarm={alarm} onLeave={onClose} />
        ))}
      </ul>
      {past.length > 0 && !isPastShown && (
        <Button look="plain" className="justify-self-center" onClick={() => setIsPastShown(true)}>
          Show {past.length} that {past.length === 1 ? "is" : "are"} over
        </Button>
      )}
    </>
  );
}
