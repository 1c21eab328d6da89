import type { ReactNode } from "react";
import { AlarmList } from "../../shell/alarm-list.tsx";
import { useAlarms } from "../../shell/use-alarms.ts";

/** Where a message about an alarm leads: what the bell shows, at an address. */
export function AlarmsScreen(): ReactNode {
  const alarms = useAlarms();
  return (
    <div className="mx-auto grid w-full max-w-3xl gap-4 p-4 lg:p-6">
      <AlarmList alarms={alarms} />
    </div>
  );
}
