import { z } from "zod";
import {
  component,
  digest,
  each,
  eventTypes,
  flag,
  json,
  limit,
  name,
  optional,
  position,
  recordedReason,
  runId,
  search,
  text,
  texts,
  time,
  traceId,
  when,
  whole,
} from "./fields.ts";
import { route, type View } from "./route.ts";

const outcome = z.enum(["success", "failure", "suppressed", "info"]);

/** Strict: an event is never sent without one of its fields. */
export const auditEvent = z
  .strictObject({
    audit_id: text,
    seq: whole,
    timestamp: when,
    ...each(text, "trace_id", "tenant", "type", "stage", "summary"),
    outcome,
    principal: z.strictObject({ agent: text, ...optional({ user: text, groups: texts, via: text }) }).optional(),
    refs: z.strictObject({
      ...optional({ run: text, task: text, step: text, tool_call: text, approval: text, key: text }),
      grant: text.optional().describe("The grant that answered for a person."),
      parent: text.optional().describe("The call whose script made this one."),
    }),
    tool_name: text.optional(),
    connector_id: text.optional().describe("The MCP server that the tool comes from."),
    ...optional({ action: text, risk_level: text, autonomy_level: text, verdict: text }),
    observed: text.optional().describe("In mode `observe`: the verdict that would be enforced."),
    reasons: z.array(z.strictObject(recordedReason)).optional(),
    ...optional({ policy_version: text, code: text, latency_ms: z.number(), request_hash: text }),
    ...optional({ response_hash: text, payload_ref: text, decided_by: text }),
    decided_via: text.optional().describe("The credential: `session:ann`, `token:tok_…`."),
    ...optional({ reason: text, data: json }),
  })
  .meta({ id: "AuditEvent" });
export type AuditEventView = View<typeof auditEvent>;

const verdict = optional({
  integrity: z.enum(["intact", "broken", "unreadable"]),
  signer: z.enum(["own", "trusted", "unproven", "foreign"]),
  outcome: z.enum(["ok", "failed"]),
  problems: texts.describe("What is wrong with the anchor file or the witness."),
});
const intact = z.object({
  intact: z.literal(true),
  events: whole,
  head: text,
  checkpoints: whole,
  unsigned: whole.optional().describe("Entries after the last checkpoint."),
  erased: whole.optional().describe("Entries of which only the digest is kept."),
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
    .describe("The log cannot be read from `first_broken` on; `failing`: another try may read it."),
  ...verdict,
});
export const verification = z.discriminatedUnion("intact", [intact, broken]).meta({ id: "Verification" });
export type VerificationView = View<typeof verification>;
/** The result of the last verification: of a request, or of the check in the background. */
export const checked = z
  .discriminatedUnion("intact", [intact.extend({ at: when }), broken.extend({ at: when })])
  .meta({ id: "Checked" });
export type CheckedView = View<typeof checked>;

const filtered = {
  trace_id: traceId,
  type: eventTypes,
  tool: name,
  outcome,
  by: name.describe("The person who decided, voted or acted."),
  call_id: name,
  since: time,
  until: time,
};
const filter = { ...filtered, limit };
const latestFilter = { ...filtered, agent: name, run_id: runId, text: name };

const events = z.array(auditEvent);
const latest = component("LatestEvents", { events, size: whole, ...optional({ next_before: whole, checked }) });

const observedTool = z.object({
  server: text.optional(),
  tool: text,
  action: text.optional(),
  ...each(whole, "calls", "asked", "denied", "blocked", "previewed"),
});
export type ObservedToolView = View<typeof observedTool>;
const observed = component("ObservedCalls", {
  since: when,
  until: when,
  ...each(whole, "calls", "asked", "denied", "blocked", "previewed"),
  tools: z.array(observedTool).describe("By what would have been stopped, most first."),
});
export type ObservedView = View<typeof observed>;

const proof = component("EventProof", {
  seq: whole,
  body: text.describe("`leaf` is the SHA-256 of 0x00 and this text."),
  leaf: digest,
  path: z.array(digest),
  size: whole,
  root: digest,
  checkpoint: text.describe("A signed note over `size` and `root`."),
  public_key: text,
});
export type EventProof = View<typeof proof>;

const note = z.object({ note: text });
const signedNote = /^[^\n]+\n(0|[1-9][0-9]{0,15})\n[A-Za-z0-9+/=]+\n\n— /;

/** The log is read, verified and signed; no route changes it. */
export const audit = {
  list: route("get", "/v1/audit", "audit:read", {
    summary: "Events of the audit log, old to new.",
    query: search({ ...filter, after: position }),
    answer: z.object({ events, ...optional({ next_after: whole, checked }) }),
  }),
  latest: route("get", "/v1/audit/latest", "audit:read", {
    summary:
      "Events of the audit log, new to old. A page may hold fewer than `limit`, even none: go on at `next_before` while there is one.",
    query: search({ ...latestFilter, limit, before: position }),
    answer: latest,
  }),
  count: route("get", "/v1/audit/count", "audit:read", {
    summary: "How many events match, up to 1,000, among the latest 200,000 entries.",
    query: search(latestFilter),
    answer: z.object({ count: whole, more: flag.describe("There may be more of them.") }),
  }),
  observed: route("get", "/v1/audit/observed", "audit:read", {
    summary:
      "What mode `observe` let pass, counted from the log by tool: calls that `enforce` would ask about or stop.",
    query: search({
      since: time.describe("Default: seven days before `until`."),
      until: time.describe("Default: now."),
      ...{ server: name, tool: name },
    }),
    answer: observed,
  }),
  verify: route("get", "/v1/audit/verify", "audit:read", {
    summary: "Read the whole log again and check every hash and signature; `against`: a signed note kept elsewhere.",
    query: search({ against: z.string().max(4096) }),
    answer: verification,
  }),
  export: route("get", "/v1/audit/export", "audit:export", {
    summary:
      "The whole log as lines that an outsider can verify. With `format`, the events that match, old to new; no signature is with them.",
    query: search({ ...latestFilter, format: z.enum(["jsonl", "csv"]) }),
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
    body: z.strictObject({ note: z.string().max(4096).regex(signedNote, "is no signed note") }),
    answer: note,
  }),
  head: route("get", "/v1/audit/heads/{name}", "audit:sign", {
    summary: "The head that is kept for another Postern's audit log.",
    answer: note,
  }),
};
