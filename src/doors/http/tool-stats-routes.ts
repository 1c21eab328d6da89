import type { ActionStatistics, Minute } from "../../tools/statistics.ts";
import { iso, isoOrNothing } from "../wire.ts";
import { answer } from "./answers.ts";
import { nothing, type Route, route } from "./old-route.ts";
import { statisticsAnswer } from "./screen-schemas.ts";

/** How tools do: counted since the start, and gone with it. */
export const toolStatsRoutes: readonly Route[] = [
  route({
    method: "get",
    needs: "controls:read",
    path: "/v1/statistics",
    summary: "Calls, errors and times of each tool of your tenant since the start, and every minute of the last hour.",
    body: nothing,
    query: nothing,
    answers: statisticsAnswer,
    run: ({ runtime: { tools }, by }) => {
      const { tenant } = by.principal;
      return answer({
        since: isoOrNothing(tools.statistics.since),
        tools: tools.statistics.actions(tenant).map(statisticsToWire),
        minutes: tools.statistics.minutes(tenant).map(minuteToWire),
      });
    },
  }),
];

function statisticsToWire(one: ActionStatistics): object {
  return {
    tool: one.tool,
    action: one.action,
    calls: one.calls,
    errors: one.errors,
    unknown: one.unknown,
    refused: one.refused,
    p50_ms: one.p50Ms,
    p95_ms: one.p95Ms,
    last_call_at: isoOrNothing(one.lastCallAt),
    last_error_at: isoOrNothing(one.lastErrorAt),
    last_error_code: one.lastErrorCode,
  };
}

function minuteToWire({ at, ...counts }: Minute): object {
  return { at: iso(at), ...counts };
}
