import { type AlarmPageView, type AlarmView, listAlarms } from "../api/alarms.ts";
import { useMay } from "../api/session.ts";
import { type Pages, usePages } from "../api/use-pages.ts";

/** What somebody should look at. Under the key `live`: any event makes it fresh. */
export function useAlarms(): Pages<AlarmPageView, AlarmView> {
  const may = useMay();
  return usePages({
    queryKey: ["live", "alarms"],
    read: listAlarms,
    rowsOf: alarmsOf,
    keyOf: idOf,
    enabled: may("alarms:read"),
  });
}

function alarmsOf({ alarms }: AlarmPageView): readonly AlarmView[] {
  return alarms;
}

function idOf({ alarm_id }: AlarmView): string {
  return alarm_id;
}
