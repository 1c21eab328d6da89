import { z } from "@hono/zod-openapi";
import { json, limit, text, whole } from "./fields.ts";
import { route } from "./route.ts";

/** Conversations of agents whose loop runs in another process. Each caller has its own, and sees no other. */
export const agentRuns = {
  list: route("get", "/v1/agent-runs", "calls:make", {
    summary: "Ids of the caller's own agent runs, from the last to the first in the order of their characters.",
    query: z.strictObject({ limit: limit.optional() }),
    answer: z.object({ run_ids: z.array(text) }),
  }),
  show: route("get", "/v1/agent-runs/{id}", "calls:make", {
    summary: "One of the caller's own agent runs: what was kept last, and what its skills add to the system prompt.",
    answer: z
      .object({
        run_id: text,
        version: whole,
        state: json.openapi({ description: "What the loop keeps: the conversation, and how it goes on." }),
        instructions: text.openapi({ description: "What the run's skills add to the system prompt now." }),
      })
      .openapi("AgentRun"),
  }),
  save: route("put", "/v1/agent-runs/{id}", "calls:make", {
    summary: "Keep the state of an agent run in the place of version `expected_version` (0: there is none yet).",
    body: z.strictObject({ state: json, expected_version: whole.min(0) }),
    answer: z.object({ run_id: text, version: whole }),
  }),
};
