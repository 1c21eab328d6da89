import { z } from "zod";
import { component, flag, text } from "./fields.ts";
import { route, type View } from "./route.ts";

const alive = component("Alive", {
  status: z.enum(["ok", "broken"]),
  problem: text.optional().describe("With a token."),
});

const check = component("ReadyCheck", {
  name: z.enum(["draining", "store", "audit", "disk", "servers"]),
  state: z
    .enum(["ok", "degraded", "failed"])
    .describe("`failed` makes Postern not ready. `degraded` is a problem with which it works on."),
  problem: text.optional(),
});
const readiness = component("Readiness", {
  ready: flag,
  checks: z.array(check).optional().describe("Only for a caller whose token may see `GET /v1/health`."),
});
export type ReadinessView = View<typeof readiness>;

/** For supervisors and balancers. They know no name of this server, so every `Host` is answered. */
export const probes = {
  live: route("get", "/healthz", "nothing", {
    summary: "Whether Postern works. 503 if it does not.",
    answer: alive,
    probe: true,
  }),
  ready: route("get", "/readyz", "nothing", {
    summary: "Whether Postern takes calls: 200 or 503. A token adds why.",
    answer: readiness,
    probe: true,
  }),
};
