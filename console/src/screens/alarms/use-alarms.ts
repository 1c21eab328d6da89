import type { AlarmPageView, AlarmView } from "@postern/core/contract";
import { type Pages, useMay, usePages } from "../../api/index.ts";

const rowsOf = ({ alarms }: AlarmPageView): readonly AlarmView[] => alarms;
const keyOf = ({ alarm_id }: AlarmView): string => alarm_id;

/** Open ones first, then the latest. */
export function useAlarms(): Pages<AlarmPageView, AlarmView> {
  const enabled = useMay()("alarms:read");
  return usePages("GET /v1/alarms", { limit: 100 }, { rowsOf, keyOf, enabled });
}
