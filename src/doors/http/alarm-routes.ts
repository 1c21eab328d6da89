import { z } from "@hono/zod-openapi";
import type { AlarmChange, AlarmState } from "../../alarms/alarms.ts";
import { alarmToWire } from "../wire-alarms.ts";
import { text, when, whole } from "./answer-fields.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { cursor, limit, reasonFields } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";

interface AlarmQuery {
  readonly state?: AlarmState | undefined;
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

const alarmQuery: z.ZodType<AlarmQuery> = z.strictObject({
  state: z.enum(["open", "acked", "resolved"]).optional(),
  limit: limit.optional(),
  after: cursor("open", "acked", "resolved").optional(),
});

const word = z
  .object({ by: text.optional(), via: text.optional(), at: when, reason: text.optional() })
  .openapi("AlarmWord");
const alarmAnswer = z
  .object({
    alarm_id: text,
    kind: text,
    state: z.enum(["open", "acked", "resolved"]),
    severity: z.enum(["warning", "critical"]),
    summary: text,
    dedupe_key: text,
    count: whole,
    first_seen: when,
    last_seen: when,
    acked: word.optional(),
    resolved: word.optional(),
    data: z.record(text, z.unknown()),
  })
  .openapi("Alarm");

/** What somebody should look at, and a person's word on it: seen, or over (SPEC 14.9, 18). */
export const alarmRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/alarms",
    needs: "alarms:read",
    summary: "What somebody should look at: open ones first, then the latest.",
    body: nothing,
    query: alarmQuery,
    answers: z.object({ alarms: z.array(alarmAnswer), next_after: text.optional() }),
    run: ({ runtime, by, query }) => {
      const { state, limit: most = 200, after } = query;
      const { alarms, nextAfter } = runtime.alarms.page({
        tenant: by.principal.tenant,
        limit: most,
        ...(state !== undefined && { state }),
        ...(after !== undefined && { after }),
      });
      return answer({ alarms: alarms.map(alarmToWire), next_after: nextAfter });
    },
  }),
  alarmVerb("ack", "Somebody knows of it; it is told of no more until it is over."),
  alarmVerb("resolve", "It is over. When its cause comes again it is raised anew."),
];

function alarmVerb(verb: "ack" | "resolve", summary: string): Route {
  return route({
    method: "post",
    path: `/v1/alarms/{id}/${verb}`,
    needs: "alarms:write",
    summary,
    body: reasonFields,
    query: nothing,
    answers: alarmAnswer,
    run: async ({ runtime, by, part, body }) => {
      const { alarms } = runtime;
      if (alarms.get(part("id"))?.tenant !== by.principal.tenant)
        return problem("alarm_unknown", `There is no alarm \`${part("id").slice(0, 64)}\`.`);
      const actor = actorOf(by);
      return answerChange(
        await (verb === "ack"
          ? alarms.acknowledge(part("id"), actor, body.reason)
          : alarms.resolve(part("id"), actor, body.reason)),
      );
    },
  });
}

function answerChange(change: AlarmChange): Response {
  return change.changed ? answer(alarmToWire(change.alarm)) : problem(change.why, change.message);
}
