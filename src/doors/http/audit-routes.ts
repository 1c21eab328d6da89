import { z } from "@hono/zod-openapi";
import type { Runtime } from "../../face.ts";
import { checkedToWire, verificationToWire } from "../wire-audit.ts";
import { auditAnswer, checkpointAnswer, verificationAnswer } from "./answer-schemas.ts";
import { answer } from "./answers.ts";
import { limit, name, position, time, traceId } from "./fields.ts";
import { nothing, type Route, route } from "./route.ts";
import { tenantSeen } from "./visible.ts";

interface AuditQuery {
  readonly trace_id?: string | undefined;
  readonly type?: string | undefined;
  readonly tool?: string | undefined;
  readonly outcome?: string | undefined;
  readonly call_id?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
}

const auditQuery: z.ZodType<AuditQuery> = z.strictObject({
  trace_id: traceId.optional(),
  type: name.optional(),
  tool: name.optional(),
  outcome: z.enum(["success", "failure", "suppressed", "info"]).optional(),
  call_id: name.optional(),
  since: time.optional(),
  until: time.optional(),
  after: position.optional(),
  limit: limit.optional(),
});

const verifyQuery: z.ZodType<{ against?: string | undefined }> = z.strictObject({
  against: z.string().max(4096).optional(),
});

/** The log is read, verified and signed here; nothing changes it, because no such verb exists (case 199). */
export const auditRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/audit",
    needs: "audit:read",
    summary: "Events of the audit log, in order. `type` may end in `.` to mean all that begin so.",
    body: nothing,
    query: auditQuery,
    answers: auditAnswer,
    run: async ({ runtime, by, query }) => {
      const most = query.limit ?? 200;
      const events = await runtime.audit.query({
        limit: most,
        ...tenantSeen(by),
        ...(query.trace_id !== undefined && { traceId: query.trace_id }),
        ...(query.type !== undefined && { type: query.type }),
        ...(query.tool !== undefined && { tool: query.tool }),
        ...(query.outcome !== undefined && { outcome: query.outcome }),
        ...(query.call_id !== undefined && { callId: await namesOfCall(runtime, query.call_id) }),
        ...(query.since !== undefined && { since: query.since }),
        ...(query.until !== undefined && { until: query.until }),
        ...(query.after !== undefined && { after: query.after }),
      });
      return answer({
        events,
        next_after: events.length === most ? events.at(-1)?.seq : undefined,
        checked: checkedToWire(runtime.audit.checked),
      });
    },
  }),
  route({
    method: "get",
    path: "/v1/audit/verify",
    needs: "audit:read",
    summary: "Read the whole log again and check every hash and signature; `against`: a signed note kept elsewhere.",
    body: nothing,
    query: verifyQuery,
    answers: verificationAnswer,
    run: async ({ runtime, query }) => answer(verificationToWire(await runtime.audit.verify(query.against))),
  }),
  route({
    method: "get",
    path: "/v1/audit/export",
    needs: "audit:export",
    summary: "The whole log as lines that an outsider can verify.",
    body: nothing,
    query: nothing,
    answers: "text/plain",
    run: ({ runtime }) =>
      new Response(ReadableStream.from(linesAsBytes(runtime.audit.export())), {
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "content-disposition": 'attachment; filename="audit.log"',
        },
      }),
  }),
  route({
    method: "post",
    path: "/v1/audit/checkpoint",
    needs: "audit:sign",
    summary: "Sign what is in the log now. Keep the note elsewhere: it proves later that nothing was cut off.",
    body: nothing,
    query: nothing,
    answers: checkpointAnswer,
    run: async ({ runtime }) => answer({ note: await runtime.audit.checkpoint() }),
  }),
];

/** A recorded call has a key, and arrivals: whichever of them is named, the events of all are meant. */
export async function namesOfCall({ calls }: Pick<Runtime, "calls">, named: string): Promise<readonly string[]> {
  const record = await calls.get(named);
  return record === undefined ? [named] : [...new Set([named, record.key, record.call.id])];
}

async function* linesAsBytes(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line.endsWith("\n") ? line : `${line}\n`);
}
