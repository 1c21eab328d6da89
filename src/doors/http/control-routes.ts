import { z } from "@hono/zod-openapi";
import type { Permission } from "../../accounts/roles.ts";
import type { Actor } from "../../calls/actor.ts";
import type { Autonomy } from "../../calls/call.ts";
import type { ControlState, Controls } from "../../policy/controls.ts";
import { controlChangeToWire, controlsToWire } from "../wire-tools.ts";
import { controlHistoryAnswer, controlsAnswer } from "./answer-schemas.ts";
import { answer } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { autonomy, type ReasonFields, reason, reasonFields } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { isOfTheHouse } from "./visible.ts";

interface AutonomyFields extends ReasonFields {
  readonly level: Autonomy;
}

interface SwitchFields extends ReasonFields {
  readonly enabled: boolean;
}

const autonomyFields: z.ZodType<AutonomyFields> = z.strictObject({
  level: autonomy,
  reason: reason.optional(),
});
const switchFields: z.ZodType<SwitchFields> = z.strictObject({
  enabled: z.boolean(),
  reason: reason.optional(),
});

/** The operator's switches (SPEC 18, D30). Who turned one is the token's word. */
export const controlRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/controls",
    needs: "controls:read",
    summary: "The switches as they are.",
    body: nothing,
    query: nothing,
    answers: controlsAnswer,
    run: ({ runtime, by }) => {
      const { pausedBy, ...state } = runtime.controls.state;
      return answer(controlsToWire(isOfTheHouse(by) ? { ...state, pausedBy } : state));
    },
  }),
  route({
    method: "get",
    path: "/v1/controls/history",
    needs: "controls:read",
    summary: "Every change of a switch, new to old: by whom and why. Of the installation's own tenant alone.",
    body: nothing,
    query: nothing,
    answers: controlHistoryAnswer,
    run: async ({ runtime, by }) => {
      const changes = isOfTheHouse(by) ? await runtime.controls.history() : [];
      return answer({ changes: changes.map(controlChangeToWire) });
    },
  }),
  switchRoute({
    path: "/v1/controls/pause",
    needs: "controls:write",
    summary: "Refuse every call from now on.",
    body: reasonFields,
    turn: (controls, by, { body }) => controls.pause(by, body.reason),
  }),
  switchRoute({
    path: "/v1/controls/resume",
    needs: "controls:write",
    summary: "Let calls pass again.",
    body: reasonFields,
    turn: (controls, by, { body }) => controls.resume(by, body.reason),
  }),
  switchRoute({
    path: "/v1/controls/autonomy",
    needs: "controls:write",
    summary: "What agents may do unasked, A0 to A4.",
    body: autonomyFields,
    turn: (controls, by, { body }) => controls.setAutonomy(body.level, by, body.reason),
  }),
  switchRoute({
    path: "/v1/controls/tools/{name}",
    needs: "tools:switch",
    summary: "Switch one tool on or off.",
    body: switchFields,
    turn: (controls, by, { part, body }) => controls.setTool(part("name"), body.enabled, by, body.reason),
  }),
  switchRoute({
    path: "/v1/controls/servers/{name}",
    needs: "tools:switch",
    summary: "Switch one upstream server with all its tools on or off.",
    body: switchFields,
    turn: (controls, by, { part, body }) => controls.setServer(part("name"), body.enabled, by, body.reason),
  }),
];

interface Switch<Fields> {
  readonly path: string;
  readonly needs: Permission;
  readonly summary: string;
  readonly body: z.ZodType<Fields>;
  readonly turn: (controls: Controls, by: Actor, asked: Asked<Fields, unknown>) => Promise<ControlState>;
}

function switchRoute<Fields>({ turn, ...spec }: Switch<Fields>): Route {
  return route({
    ...spec,
    method: "post",
    query: nothing,
    answers: controlsAnswer,
    run: async (asked) => answer(controlsToWire(await turn(asked.runtime.controls, actorOf(asked.by), asked))),
  });
}
