import type { ControlState } from "../../policy/controls.ts";
import { type controlState, controls } from "../contract/controls.ts";
import type { Input } from "../contract/route.ts";
import { actorOf } from "./decider.ts";
import { type Route, serve } from "./route.ts";
import { isOfTheHouse } from "./visible.ts";

/** The operator's switches (SPEC 18, D30). Who turned one is the token's word. */
export const controlRoutes: readonly Route[] = serve(controls, {
  show: ({ runtime, by }) => {
    const { pausedBy, ...state } = runtime.controls.state;
    return shown(isOfTheHouse(by) ? { ...state, pausedBy } : state);
  },
  history: async ({ runtime, by }) => ({ changes: isOfTheHouse(by) ? await runtime.controls.history() : [] }),
  pause: async ({ runtime, by, body }) => shown(await runtime.controls.pause(actorOf(by), body.reason)),
  resume: async ({ runtime, by, body }) => shown(await runtime.controls.resume(actorOf(by), body.reason)),
  autonomy: async ({ runtime, by, body }) =>
    shown(await runtime.controls.setAutonomy(body.level, actorOf(by), body.reason)),
  tool: async ({ runtime, by, part, body }) =>
    shown(await runtime.controls.setTool(part("name"), body.enabled, actorOf(by), body.reason)),
  server: async ({ runtime, by, part, body }) =>
    shown(await runtime.controls.setServer(part("name"), body.enabled, actorOf(by), body.reason)),
});

function shown({ paused, pausedBy, autonomy, offTools, offServers }: ControlState): Input<typeof controlState> {
  return {
    paused,
    paused_by: paused ? pausedBy : undefined,
    autonomy: autonomy ?? null,
    off_tools: offTools,
    off_servers: offServers,
  };
}
