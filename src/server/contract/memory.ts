import { z } from "@hono/zod-openapi";
import { limit, reason, runId, text, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const state = z.enum(["open", "accepted", "rejected", "waiting", "unknown"]);

/** What an agent proposed to remember, and what a person decided. */
export const candidate = z
  .object({
    candidate_id: text,
    state,
    run_id: text,
    call_id: text,
    proposed_at: when,
    agent: text,
    user: text.optional(),
    scope: text,
    content: text,
    tags: z.array(text),
    decided_at: when.optional(),
    decided_by: text.optional(),
    reason: text.optional(),
    memory_id: text.optional().openapi({ description: "The provider's id of the memory." }),
    approval_id: text.optional().openapi({ description: "The request that the provider's own call waits for." }),
    error: text.optional(),
  })
  .openapi("MemoryCandidate");
export type CandidateView = View<typeof candidate>;

const fields = { run_id: runId.optional(), reason: reason.optional() };

export const memory = {
  candidates: route("get", "/v1/memory/candidates", "memory:decide", {
    summary: "What agents proposed to remember, new to old: of one run, or of the latest runs.",
    query: z.strictObject({ run_id: runId.optional(), state: state.optional(), limit: limit.optional() }),
    answer: z.object({ candidates: z.array(candidate) }),
  }),
  accept: route("post", "/v1/memory/candidates/{id}/accept", "memory:decide", {
    summary: "Write it to the memory provider, once.",
    body: z.strictObject({ ...fields, again: z.boolean().optional() }),
    answer: candidate,
  }),
  reject: route("post", "/v1/memory/candidates/{id}/reject", "memory:decide", {
    summary: "Reject it: it is not remembered.",
    body: z.strictObject(fields),
    answer: candidate,
  }),
};
