import { z } from "zod";
import { callId, component, limit, optional, principal, runId, search, text, when, whole } from "./fields.ts";
import { outcome } from "./outcome.ts";
import { route, type View } from "./route.ts";

export const chain = component("Chain", {
  call_id: text,
  state: z.enum(["running", "waiting", "interrupted"]),
  advice: text.optional(),
  requested_by: principal,
  run_id: text,
  language: text.optional(),
  source: text,
  ...optional({ engine: text, image_bytes: whole }),
  since: when,
  waiting: z.array(z.object({ tool: text, approval_id: text, line: whole.optional() })),
  expires_at: when.optional(),
});
export type Chain = View<typeof chain>;

export const chainPage = z.object({
  chains: z.array(chain),
  next_before: text.optional().describe("Where the next page begins."),
  engines: z.array(
    z.object({
      name: text,
      ...optional({ language: z.enum(["javascript", "python"]), problem: text }),
      down: z.literal(true).optional().describe("It may run here, and did not start for a script."),
    }),
  ),
});
export type ChainPage = View<typeof chainPage>;

/** A script is run as any tool is (`POST /v1/calls`, `tool_chain`). These routes show what runs and what waits. */
export const chains = {
  list: route("get", "/v1/chains", "calls:read", {
    summary:
      "Scripts that run now, wait for a person or were cut short and can go on, new to old, and the engines there are. An agent sees its own.",
    query: search({ run_id: runId, before: callId, limit }),
    answer: chainPage,
  }),
  resume: route("post", "/v1/chains/{id}/resume", "calls:make", {
    summary: "Let a script go on that waits or was cut short; 202 while its person has not decided.",
    answer: outcome,
  }),
};
