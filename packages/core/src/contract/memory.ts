import { z } from "zod";
import { component, flag, limit, optional, reason, runId, search, text, texts, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const state = z.enum(["open", "accepted", "rejected", "waiting", "unknown"]);

/** What an agent proposed to remember, and what a person decided. */
export const candidate = component("MemoryCandidate", {
  candidate_id: text,
  state,
  run_id: text,
  call_id: text,
  proposed_at: when,
  agent: text,
  user: text.optional(),
  scope: text,
  content: text,
  tags: texts,
  ...optional({ decided_at: when, decided_by: text, reason: text }),
  memory_id: text.optional().describe("The provider's id of the memory."),
  approval_id: text.optional().describe("The request that the provider's own call waits for."),
  error: text.optional(),
});
export type CandidateView = View<typeof candidate>;

const fields = optional({ run_id: runId, reason });

export const memory = {
  candidates: route("get", "/v1/memory/candidates", "memory:decide", {
    summary: "What agents proposed to remember, new to old: of one run, or of the latest runs.",
    query: search({ run_id: runId, state, limit }),
    answer: z.object({ candidates: z.array(candidate) }),
  }),
  accept: route("post", "/v1/memory/candidates/{id}/accept", "memory:decide", {
    summary: "Write it to the memory provider, once.",
    body: z.strictObject({ ...fields, again: flag.optional() }),
    answer: candidate,
  }),
  reject: route("post", "/v1/memory/candidates/{id}/reject", "memory:decide", {
    summary: "Reject it: it is not remembered.",
    body: z.strictObject(fields),
    answer: candidate,
  }),
};
