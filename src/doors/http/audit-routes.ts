import { z } from "@hono/zod-openapi";
import { given } from "../../calls/given.ts";
import { checkedToWire, verificationToWire } from "../wire-audit.ts";
import { auditAnswer, checkpointAnswer, verificationAnswer } from "./answer-schemas.ts";
import { answer } from "./answers.ts";
import { type EventFields, eventFields, eventFilter } from "./audit-fields.ts";
import { position } from "./fields.ts";
import { nothing, type Route, route } from "./old-route.ts";
import { tenantSeen } from "./visible.ts";

interface AuditQuery extends EventFields {
  readonly after?: number | undefined;
}

const auditQuery: z.ZodType<AuditQuery> = z.strictObject({ ...eventFields, after: position.optional() });

const verifyQuery: z.ZodType<{ against?: string | undefined }> = z.strictObject({
  against: z.string().max(4096).optional(),
});

/** The log is read, verified and signed here; nothing changes it, because no such verb exists (case 199). */
export const auditRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/audit",
    needs: "audit:read",
    summary:
      "Events of the audit log, in order. `type`: some, apart by commas; one that ends in `.` means all that begin so.",
    body: nothing,
    query: auditQuery,
    answers: auditAnswer,
    run: async ({ runtime, by, query }) => {
      const { limit: most = 200, after, ...where } = query;
      const filter = await eventFilter(runtime, where);
      const events = await runtime.audit.query({ ...filter, ...given({ after }), limit: most, ...tenantSeen(by) });
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

async function* linesAsBytes(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line.endsWith("\n") ? line : `${line}\n`);
}
