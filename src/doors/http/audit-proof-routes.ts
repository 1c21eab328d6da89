import { z } from "@hono/zod-openapi";
import { checkedToWire } from "../wire-audit.ts";
import { answer, problem } from "./answers.ts";
import { namesOfCall } from "./audit-routes.ts";
import { limit, name, position, runId, time, traceId } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
import { latestAnswer, proofAnswer } from "./screen-schemas.ts";
import { seesEntry, tenantSeen } from "./visible.ts";

interface LatestQuery {
  readonly trace_id?: string | undefined;
  readonly type?: string | undefined;
  readonly tool?: string | undefined;
  readonly outcome?: string | undefined;
  readonly agent?: string | undefined;
  readonly run_id?: string | undefined;
  readonly call_id?: string | undefined;
  readonly text?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
}

const latestQuery: z.ZodType<LatestQuery> = z.strictObject({
  trace_id: traceId.optional(),
  type: name.optional(),
  tool: name.optional(),
  outcome: z.enum(["success", "failure", "suppressed", "info"]).optional(),
  agent: name.optional(),
  run_id: runId.optional(),
  call_id: name.optional(),
  text: name.optional(),
  since: time.optional(),
  until: time.optional(),
  before: position.optional(),
  limit: limit.optional(),
});

/** The log from its end, and the proof that an event is in it. */
export const auditProofRoutes: readonly Route[] = [
  route({
    method: "get",
    needs: "audit:read",
    path: "/v1/audit/latest",
    summary:
      "Events of the audit log, new to old. A page may hold fewer than `limit`, none even: go on at `next_before` while there is one.",
    body: nothing,
    query: latestQuery,
    answers: latestAnswer,
    run: async ({ runtime, by, query }) => {
      const { trace_id, run_id, call_id, ...same } = query;
      const callId = call_id === undefined ? undefined : await namesOfCall(runtime, call_id);
      const named = { traceId: trace_id, runId: run_id, callId, ...same };
      const { events, nextBefore } = await runtime.audit.latest({ ...given(named), ...tenantSeen(by) });
      const { size, checked } = runtime.audit;
      return answer({ events, next_before: nextBefore, size, checked: checkedToWire(checked) });
    },
  }),
  route({
    method: "get",
    needs: "audit:read",
    path: "/v1/audit/{seq}/proof",
    summary: "An event as it is kept, and its path to the root that a signed note vouches for: for whoever checks it.",
    body: nothing,
    query: nothing,
    answers: proofAnswer,
    run: async ({ runtime, by, part }) => {
      const seq = part("seq");
      const proof = /^\d{1,15}$/.test(seq) ? await runtime.audit.prove(Number(seq)) : undefined;
      if (proof === undefined || !seesEntry(by, proof.body))
        return problem(
          "event_unknown",
          `There is no event \`${seq.slice(0, 40)}\` in the log; it has ${runtime.audit.size}.`,
        );
      const { body, leaf, path, size, root, checkpoint, publicKey } = proof;
      return answer({ seq: proof.seq, body, leaf, path, size, root, checkpoint, public_key: publicKey });
    },
  }),
];

/** What was left out is not there, instead of there and undefined. */
function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }; // the same fields, less the empty ones
}
