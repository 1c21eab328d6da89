import { z } from "@hono/zod-openapi";
import type { Autonomy } from "../../calls/call.ts";
import { controlChangeToWire, controlsToWire } from "../wire-tools.ts";
import { controlHistoryAnswer, controlsAnswer } from "./answer-schemas.ts";
import { answer } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { autonomy, type ReasonFields, reason, reasonFields } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
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
    run: ({ runtime }) => answer(controlsToWire(runtime.controls.state)),
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
  route({
    method: "post",
    path: "/v1/controls/pause",
    needs: "controls:write",
    summary: "Refuse every call from now on.",
    body: reasonFields,
    query: nothing,
    answers: controlsAnswer,
    run: async ({ runtime, by, body }) =>
      answer(controlsToWire(await runtime.controls.pause(actorOf(by), body.reason))),
  }),
  route({
    method: "post",
    path: "/v1/controls/resume",
    needs: "controls:write",
    summary: "Let calls pass again.",
    body: reasonFields,
    query: nothing,
    answers: controlsAnswer,
    run: async ({ runtime, by, body }) =>
      answer(controlsToWire(await runtime.controls.resume(actorOf(by), body.reason))),
  }),
  route({
    method: "post",
    path: "/v1/controls/autonomy",
    needs: "controls:write",
    summary: "What agents may do unasked, A0 to A4.",
    body: autonomyFields,
    query: nothing,
    answers: controlsAnswer,
    run: async ({ runtime, by, body }) =>
      answer(controlsToWire(await runtime.controls.setAutonomy(body.level, actorOf(by), body.reason))),
  }),
  route({
    method: "post",
    path: "/v1/controls/tools/{name}",
    needs: "tools:switch",
    summary: "Switch one tool on or off.",
    body: switchFields,
    query: nothing,
    answers: controlsAnswer,
    run: async ({ runtime, by, part, body }) =>
      answer(controlsToWire(await runtime.controls.setTool(part("name"), body.enabled, actorOf(by), body.reason))),
  }),
  route({
    method: "post",
    path: "/v1/controls/servers/{name}",
    needs: "tools:switch",
    summary: "Switch one upstream server with all its tools on or off.",
    body: switchFields,
    query: nothing,
    answers: controlsAnswer,
    run: async ({ runtime, by, part, body }) =>
      answer(controlsToWire(await runtime.controls.setServer(part("name"), body.enabled, actorOf(by), body.reason))),
  }),
];
