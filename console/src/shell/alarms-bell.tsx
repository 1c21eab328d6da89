import { type ReactNode, useState } from "react";
import { useMay } from "../api/session.ts";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icons.tsx";
import { late } from "../kit/late.tsx";
import { useAlarms } from "./use-alarms.ts";

const AlarmList = late(async () => (await import("./alarm-list.tsx")).AlarmList);

/** At the top of every page; what a message about one leads to has the same list (screens/alarms). */
export function AlarmsBell(): ReactNode {
  const may = useMay();
  const [open, setOpen] = useState(false);
  const alarms = useAlarms();
  if (!may("alarms:read")) return null;
  const unseen = alarms.rows?.filter(({ state }) => state === "open").length ?? 0;
  const close = (): void => setOpen(false);
  return (
    <>
      <Bell unseen={unseen} onOpen={() => setOpen(true)} />
      <Dialog title="Alarms" open={open} wide onClose={close}>
        <AlarmList alarms={alarms} onClose={close} />
      </Dialog>
    </>
  );
}

function Bell({ unseen, onOpen }: { readonly unseen: number; readonly onOpen: () => void }): ReactNode {
  return (
    <button
      type="button"
      onClick={onOpen}
      aria-label={unseen === 0 ? "Alarms: none open" : `Alarms: ${unseen > 99 ? "more than 99" : unseen} open`}
      className="relative grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
    >
      <Icon name="bell" />
      {unseen > 0 && (
        <span
          aria-hidden="true"
          className="tabular absolute top-0 right-0 rounded-full bg-critical px-1 text-[0.7143rem] leading-[1rem] font-semibold text-surface"
        >
          {unseen > 99 ? "99+" : unseen}
        </span>
      )}
    </button>
  );
}
