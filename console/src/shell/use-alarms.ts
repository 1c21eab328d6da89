import { type Alarm, type AlarmPage, listAlarms } from "../api/alarms.ts";
import { useMay } from "../api/session.ts";
import { type Pages, usePages } from "../api/use-pages.ts";

/** What somebody should look at. Under the key `live`: any event makes it fresh. */
export function useAlarms(): Pages<AlarmPage, Alarm> {
  const may = useMay();
  return usePages({
    queryKey: ["live", "alarms"],
    read: listAlarms,
    rowsOf: alarmsOf,
    keyOf: idOf,
    enabled: may("alarms:read"),
  });
}

function alarmsOf({ alarms }: AlarmPage): readonly Alarm[] {
  return alarms;
}

function idOf({ alarm_id }: Alarm): string {
  return alarm_id;
}
