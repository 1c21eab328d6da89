import { useQuery } from "@tanstack/react-query";
import { type Alarm, listAlarms } from "../api/alarms.ts";
import { useMay } from "../api/session.ts";

/** What somebody should look at. Under the key `live`: any event makes it fresh. */
export function useAlarms(): {
  readonly alarms: readonly Alarm[] | undefined;
  readonly error: unknown;
  readonly again: () => void;
} {
  const may = useMay();
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "alarms"],
    queryFn: ({ signal }) => listAlarms(signal),
    enabled: may("alarms:read"),
  });
  return { alarms: data?.alarms, error, again: () => void refetch() };
}
