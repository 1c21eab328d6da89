import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { listAlarms } from "../api/alarms.ts";
import { useMay } from "../api/session.ts";
import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icons.tsx";
import { EmptyState, ErrorState } from "../kit/states.tsx";
import { AlarmItem } from "./alarm-item.tsx";

/** What somebody should look at. Under the key `live`: any event makes it fresh. */
export function AlarmsBell(): ReactNode {
  const may = useMay();
  const [open, setOpen] = useState(false);
  const [isPastShown, setIsPastShown] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "alarms"],
    queryFn: ({ signal }) => listAlarms(signal),
    enabled: may("alarms:read"),
  });
  if (!may("alarms:read")) return null;
  const standing = data?.alarms.filter(({ state }) => state !== "resolved") ?? [];
  const past = data?.alarms.filter(({ state }) => state === "resolved") ?? [];
  const unseen = standing.filter(({ state }) => state === "open").length;
  return (
    <>
      <Bell unseen={unseen} onOpen={() => setOpen(true)} />
      <Dialog title="Alarms" open={open} wide onClose={() => setOpen(false)}>
        {error !== null && <ErrorState error={error} retry={() => void refetch()} />}
        {error === null && standing.length === 0 && (
          <EmptyState title="All quiet">
            Repeated errors, expiring tokens, storms of requests, changed tools and channels that take nothing would be
            told here.
          </EmptyState>
        )}
        <ul className="grid gap-3 empty:hidden">
          {[...standing, ...(isPastShown ? past : [])].map((alarm) => (
            <AlarmItem key={alarm.alarm_id} alarm={alarm} />
          ))}
        </ul>
        {past.length > 0 && !isPastShown && (
          <Button look="plain" className="justify-self-center" onClick={() => setIsPastShown(true)}>
            Show {past.length} that {past.length === 1 ? "is" : "are"} over
          </Button>
        )}
      </Dialog>
    </>
  );
}

function Bell({ unseen, onOpen }: { readonly unseen: number; readonly onOpen: () => void }): ReactNode {
  return (
    <button
      type="button"
      onClick={onOpen}
      aria-label={unseen === 0 ? "Alarms: none open" : `Alarms: ${unseen} open`}
      className="relative grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
    >
      <Icon name="bell" />
      {unseen > 0 && (
        <span
          aria-hidden="true"
          className="tabular absolute top-0 right-0 rounded-full bg-critical px-1 text-[0.7143rem] leading-[1rem] font-semibold text-surface"
        >
          {unseen}
        </span>
      )}
    </button>
  );
}
