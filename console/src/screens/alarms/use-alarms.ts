import type { AlarmPageView, AlarmView } from "../../../../src/server/contract/alarms.ts";
import { ask, type Pages, useMay, usePages } from "../../api/index.ts";

const alarmsOf = ({ alarms }: AlarmPageView): readonly AlarmView[] => alarms;
const idOf = ({ alarm_id }: AlarmView): string => alarm_id;

/** Open ones first, then the latest. */
export function useAlarms(): Pages<AlarmPageView, AlarmView> {
  const may = useMay();
  return usePages({
    queryKey: ["live", "alarms"],
    read: (after, signal) => ask("GET /v1/alarms", { limit: 100, after }, signal),
    rowsOf: alarmsOf,
    keyOf: idOf,
    enabled: may("alarms:read"),
  });
}
