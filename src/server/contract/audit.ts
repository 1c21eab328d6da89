import { z } from "@hono/zod-openapi";
import { digest, json, limit, name, position, runId, text, time, traceId, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const outcome = z.enum(["success", "failure", "suppressed", "info"]);

/** Strict: an event is never sent without one of its fields. */
export const auditEvent = z
  .strictObject({
    audit_id: text,
    seq: whole,
    timestamp: when,
    trace_id: text,
    tenant: text,
    type: text,
    stage: text,
    summary: text,
    outcome,
    principal: z.strictObject({ agent: text, user: text.optional(), via: text.optional() }).optional(),
    refs: z.strictObject({
      run: text.optional(),
      task: text.optional(),
      step: text.optional(),
      tool_call: text.optional(),
      approval: text.optional(),
      key: text.optional(),
      grant: text.optional().openapi({ description: "The grant that answered for a person." }),
      parent: text.optional().openapi({ description: "The call whose script made this one." }),
    }),
    tool_name: text.optional(),
    connector_id: text.optional().openapi({ description: "The MCP server that the tool comes from." }),
    action: text.optional(),
    risk_level: text.optional(),
    autonomy_level: text.optional(),
    verdict: text.optional(),
    reasons: z.array(z.strictObject({ rule: text, says: text, where: text.optional() })).optional(),
    policy_version: text.optional(),
    code: text.optional(),
    latency_ms: z.number().optional(),
    request_hash: text.optional(),
    response_hash: text.optional(),
    payload_ref: text.optional(),
    decided_by: text.optional(),
    decided_via: text.optional().openapi({ description: "The credential: `session:ann`, `token:tok_…`." }),
    reason: text.optional(),
    data: json.optional(),
  })
  .openapi("AuditEvent");
export type AuditEventView = View<typeof auditEvent>;

const verdict = {
  integrity: z.enum(["intact", "broken", "unreadable"]).optional(),
  signer: z.enum(["own", "trusted", "unproven", "foreign"]).optional(),
  outcome: z.enum(["ok", "failed"]).optional(),
  problems: z.array(text).optional().openapi({ description: "What is wrong with the anchor file or the witness." }),
};
const intact = z.object({
  intact: z.literal(true),
  events: whole,
  head: text,
  checkpoints: whole,
  unsigned: whole.optional().openapi({ description: "Entries after the last checkpoint." }),
  ...verdict,
});
const broken = z.object({
  intact: z.literal(false),
  events: whole,
  first_broken: whole,
  why: text,
  unreadable: z
    .enum(["damaged", "failing"])
    .optional()
    .openapi({ description: "The log cannot be read from `first_broken` on; `failing`: another try may read it." }),
  ...verdict,
});
export const verification = z.discriminatedUnion("intact", [intact, broken]).openapi("Verification");
export type VerificationView = View<typeof verification>;
/** The result of the last verification: of a request, or of the check in the background. */
export const checked = z
  .discriminatedUnion("intact", [intact.extend({ at: when }), broken.extend({ at: when })])
  .openapi("Checked");
export type CheckedView = View<typeof checked>;

const filter = {
  trace_id: traceId.optional(),
  type: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .openapi({ description: "Types, separated by commas. A type that ends in `.` is a prefix." }),
  tool: name.optional(),
  outcome: outcome.optional(),
  by: name.optional().openapi({ description: "The person who decided, voted or acted." }),
  call_id: name.optional(),
  since: time.optional(),
  until: time.optional(),
  limit: limit.optional(),
};

const latest = z
  .object({ events: z.array(auditEvent), next_before: whole.optional(), size: whole, checked: checked.optional() })
  .openapi("LatestEvents");

const proof = z
  .object({
    seq: whole,
    body: text.openapi({ description: "`leaf` is the SHA-256 of 0x00 and this text." }),
    leaf: digest,
    path: z.array(digest),
    size: whole,
    root: digest,
    checkpoint: text.openapi({ description: "A signed note over `size` and `root`." }),
    public_key: text,
  })
  .openapi("EventProof");
export type EventProof = View<typeof proof>;

const note = z.object({ note: text });

/** The log is read, verified and signed; no route changes it. */
export const audit = {
  list: route("get", "/v1/audit", "audit:read", {
    summary: "Events of the audit log, old to new.",
    query: z.strictObject({ ...filter, after: position.optional() }),
    answer: z.object({ events: z.array(auditEvent), next_after: whole.optional(), checked: checked.optional() }),
  }),
  latest: route("get", "/v1/audit/latest", "audit:read", {
    summary:
      "Events of the audit log, new to old. A page may hold fewer than `limit`, even none: go on at `next_before` while there is one.",
    query: z.strictObject({
      ...filter,
      agent: name.optional(),
      run_id: runId.optional(),
      text: name.optional(),
      before: position.optional(),
    }),
    answer: latest,
  }),
  verify: route("get", "/v1/audit/verify", "audit:read", {
    summary: "Read the whole log again and check every hash and signature; `against`: a signed note kept elsewhere.",
    query: z.strictObject({ against: z.string().max(4096).optional() }),
    answer: verification,
  }),
  export: route("get", "/v1/audit/export", "audit:export", {
    summary: "The whole log as lines that an outsider can verify.",
    answer: "text/plain",
  }),
  checkpoint: route("post", "/v1/audit/checkpoint", "audit:sign", {
    summary: "Sign what is in the log now. Keep the note elsewhere: it proves later that nothing was cut off.",
    answer: note,
  }),
  proof: route("get", "/v1/audit/{seq}/proof", "audit:read", {
    summary: "An event as it is kept, and its path to the root that a signed note covers.",
    answer: proof,
  }),
  keepHead: route("put", "/v1/audit/heads/{name}", "audit:sign", {
    summary: "Keep the head of another Postern's audit log, as its witness. One over fewer entries is refused.",
    body: z.strictObject({
      note: z
        .string()
        .max(4096)
        .regex(/^[^\n]+\n(0|[1-9][0-9]{0,15})\n[A-Za-z0-9+/=]+\n\n— /, "is no signed note"),
    }),
    answer: note,
  }),
  head: route("get", "/v1/audit/heads/{name}", "audit:sign", {
    summary: "The head that is kept for another Postern's audit log.",
    answer: note,
  }),
};
