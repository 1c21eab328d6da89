import { type ReactNode, useState } from "react";
import type { AlarmPageView, AlarmView } from "../api/alarms.ts";
import type { Pages } from "../api/use-pages.ts";
import { Button } from "../kit/button.tsx";
import { EmptyState, NotYet } from "../kit/states.tsx";
import { AlarmItem } from "./alarm-item.tsx";

/** Those that stand; those that are over when they are asked for. */
export function AlarmList({
  alarms: { rows, error, again, more, hasMore },
  onClose,
}: {
  readonly alarms: Pages<AlarmPageView, AlarmView>;
  /** Of the dialog it stands in. */
  readonly onClose?: () => void;
}): ReactNode {
  const [isPastShown, setIsPastShown] = useState(false);
  if (rows === undefined) return <NotYet error={error} again={again} rows={2} />;
  const standing = rows.filter(({ state }) => state !== "resolved");
  const past = rows.filter(({ state }) => state === "resolved");
  const isMoreWanted = hasMore && (isPastShown || past.length === 0); // those that stand come first
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
          Show {hasMore ? "those that are over" : `${past.length} that ${past.length === 1 ? "is" : "are"} over`}
        </Button>
      )}
      {isMoreWanted && (
        <Button look="plain" className="justify-self-center" onClick={more}>
          Show more
        </Button>
      )}
    </>
  );
}
