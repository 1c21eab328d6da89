import type { Actor } from "../../core/actor.ts";
import type { Alarm, AlarmChange } from "../../observe/alarms/alarms.ts";
import { type alarm as alarmSchema, alarms } from "../contract/alarms.ts";
import type { Input } from "../contract/route.ts";
import { problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";

export const alarmRoutes: readonly Route[] = serve(alarms, {
  list: ({ runtime, by, query }) => {
    const { limit = 200, ...where } = query;
    const page = runtime.alarms.page({ tenant: by.principal.tenant, limit, ...where });
    return { alarms: page.alarms.map(shown), next_after: page.nextAfter };
  },
  ack: (request) => change(request, (id, actor) => request.runtime.alarms.acknowledge(id, actor, request.body.reason)),
  resolve: (request) => change(request, (id, actor) => request.runtime.alarms.resolve(id, actor, request.body.reason)),
});

async function change(
  { runtime, by, part }: RouteRequest,
  make: (id: string, actor: Actor) => Promise<AlarmChange>,
): Promise<Response | Input<typeof alarmSchema>> {
  const id = part("id");
  if (runtime.alarms.get(id)?.tenant !== by.principal.tenant)
    return problem("alarm_unknown", `There is no alarm \`${id.slice(0, 64)}\`.`);
  const changed = await make(id, actorOf(by));
  return changed.changed ? shown(changed.alarm) : problem(changed.why, changed.message);
}

function shown({ id, key, firstSeen, lastSeen, ...alarm }: Alarm): Input<typeof alarmSchema> {
  return { ...alarm, alarm_id: id, dedupe_key: key, first_seen: firstSeen, last_seen: lastSeen };
}
