import { checkMembers, type Kind } from "../core/checked-members.ts";
import type { AuditFilter, LatestFilter } from "./log.ts";

const members: Readonly<Record<keyof AuditFilter | keyof LatestFilter, Kind>> = {
  traceId: "a text",
  type: "a text or a list of texts",
  tool: "a text",
  outcome: "a text",
  tenant: "a text",
  callId: "an id or a list of ids",
  runId: "a text",
  agent: "a text",
  by: "a text",
  text: "a text",
  since: "a number",
  until: "a number",
  after: "a number",
  before: "a number",
  limit: "a whole number from 0",
};

/** @throws RuntimeFault `filter_invalid` that names the member and the value */
export function checkedFilter<Filter extends AuditFilter | LatestFilter>(where: Filter): Filter {
  checkMembers(where, { code: "filter_invalid", what: "The filter", members, of: "events" });
  return where;
}
