import { checkMembers, type Kind } from "../calls/checked-members.ts";
import type { AlarmFilter } from "./alarms.ts";

const members: Readonly<Record<keyof AlarmFilter, Kind>> = {
  tenant: "a text",
  state: ["open", "acked", "resolved"],
  limit: "a whole number from 0",
  after: "a text",
};

/** @throws RuntimeFault `filter_invalid` that names the member and the value */
export function checkedFilter(where: AlarmFilter): AlarmFilter {
  checkMembers(where, { code: "filter_invalid", what: "The filter", members, of: "alarms" });
  return where;
}
