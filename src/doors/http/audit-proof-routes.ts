import { z } from "@hono/zod-openapi";
import { given } from "../../calls/given.ts";
import { checkedToWire } from "../wire-audit.ts";
import { answer, problem } from "./answers.ts";
import { type EventFields, eventFields, eventFilter } from "./audit-fields.ts";
import { name, position, runId } from "./fields.ts";
import { nothing, type Route, route } from "./old-route.ts";
import { latestAnswer, proofAnswer } from "./screen-schemas.ts";
import { seesEntry, tenantSeen } from "./visible.ts";

interface LatestQuery extends EventFields {
  readonly agent?: string | undefined;
  readonly run_id?: string | undefined;
  readonly text?: string | undefined;
  readonly before?: number | undefined;
}

const latestQuery: z.ZodType<LatestQuery> = z.strictObject({
  ...eventFields,
  agent: name.optional(),
  run_id: runId.optional(),
  text: name.optional(),
  before: position.optional(),
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
      const { agent, run_id, text, before, ...where } = query;
      const more = given({ agent, runId: run_id, text, before });
      const filter = await eventFilter(runtime, where);
      const { events, nextBefore } = await runtime.audit.latest({ ...filter, ...more, ...tenantSeen(by) });
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
