import { counted, defined, isJsonObject, noOpaqueFields, toCamelCase } from "@postern/core";
import { audit, type checked, type Input, type QueryOf } from "@postern/core/contract";
import type { AuditFilter, LatestFilter } from "../../audit/log.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { verificationToWire } from "../wire.ts";
import { problem } from "./answers.ts";
import { exportedEvents } from "./audit-export.ts";
import { actorOf, seesEntry, tenantSeen } from "./caller.ts";
import { observedCalls } from "./observed-calls.ts";
import { type Route, serve } from "./route.ts";

const headKept = "operator.action.audit_head_kept";

export const auditRoutes: readonly Route[] = serve(audit, {
  list: async ({ runtime, by, query }) => {
    const { limit = 200 } = query;
    const events = await runtime.audit.query({ ...(await filterOf(runtime, query)), limit, ...tenantSeen(by) });
    const next = events.length === limit ? events.at(-1)?.seq : undefined;
    return { events, next_after: next, checked: lastChecked(runtime) };
  },
  latest: async ({ runtime, by, query }) => {
    const { events, nextBefore } = await runtime.audit.latest({
      ...(await filterOf(runtime, query)),
      ...tenantSeen(by),
    });
    return { events, next_before: nextBefore, size: runtime.audit.size, checked: lastChecked(runtime) };
  },
  observed: ({ runtime, by, query, now }) => observedCalls(runtime, { ...query, now: now() }, tenantSeen(by)),
  verify: async ({ runtime, query }) => verificationToWire(await runtime.audit.verify(query.against)),
  count: async ({ runtime, by, query }) =>
    countedEvents(runtime.audit, { ...(await filterOf(runtime, query)), ...tenantSeen(by) }),
  export: async ({ runtime, by, query: { format, ...query } }) => {
    if (format === undefined && Object.keys(query).length > 0)
      return problem(
        "request_invalid",
        "Filters need `format`: `jsonl` or `csv`. Without `format` the whole log is sent, so that it can be verified.",
      );
    if (format === undefined) return download(runtime.audit.export(), "text/plain", "audit.log");
    const where = { ...(await filterOf(runtime, query)), ...tenantSeen(by) };
    const type = format === "csv" ? "text/csv" : "application/jsonl";
    return download(exportedEvents(runtime, where, format), type, `audit.${format}`);
  },
  checkpoint: async ({ runtime }) => ({ note: await runtime.audit.checkpoint() }),
  proof: async ({ runtime, by, part }) => {
    const seq = part("seq");
    const proof = /^\d{1,15}$/.test(seq) ? await runtime.audit.prove(Number(seq)) : undefined;
    if (proof === undefined || !seesEntry(by, proof.body))
      return problem(
        "event_unknown",
        `There is no event \`${seq.slice(0, 40)}\` in the log; it has ${runtime.audit.size}.`,
      );
    return { ...proof, public_key: proof.publicKey };
  },
  keepHead: async ({ runtime, by, part, body: { note } }) => {
    const name = part("name");
    const kept = await keptHead(runtime, name);
    if (kept === note) return { note };
    if (kept !== undefined && entriesOf(note) <= entriesOf(kept))
      return problem(
        "head_behind",
        `The head kept for \`${name}\` signs ${counted(entriesOf(kept), "entry", "entries")}; one over ${entriesOf(note)} cannot follow it. Was that log cut off or rewritten?`,
      );
    await runtime.note(headKept, `Head of the audit log \`${name}\`: ${counted(entriesOf(note), "entry", "entries")}`, {
      ...actorOf(by),
      outcome: "success",
      data: { log: name, note },
    });
    return { note };
  },
  head: async ({ runtime, part }) => {
    const note = await keptHead(runtime, part("name"));
    return note === undefined ? problem("head_unknown", `No head is kept for \`${part("name")}\`.`) : { note };
  },
});

type Query = QueryOf<typeof audit.list> & QueryOf<typeof audit.latest>;

function download(lines: AsyncIterable<string>, type: string, fileName: string): Response {
  return new Response(ReadableStream.from(linesAsBytes(lines)), {
    headers: {
      "content-type": `${type}; charset=utf-8`,
      "content-disposition": `attachment; filename="${fileName}"`,
    },
  });
}

const mostCounted = 1_000;
const mostRead = 200_000;

async function countedEvents(
  log: Runtime["audit"],
  where: LatestFilter,
): Promise<{ readonly count: number; readonly more: boolean }> {
  const end = log.size - mostRead;
  let count = 0;
  for (let before: number | undefined = log.size; before !== undefined; ) {
    const page = await log.latest({ ...where, before, limit: mostCounted - count });
    count += page.events.length;
    before = page.nextBefore;
    if (before !== undefined && (count >= mostCounted || before < end)) return { count, more: true };
  }
  return { count, more: false };
}

/** A recorded call has a key and arrivals: the name of any of them finds the events of all. */
async function filterOf(
  { calls }: Pick<Runtime, "calls">,
  { call_id: named, type: types, ...query }: Query,
): Promise<AuditFilter & LatestFilter> {
  const type = types?.split(",").filter((one) => one !== "");
  const where = { ...toCamelCase(query, noOpaqueFields), ...defined({ type }) };
  if (named === undefined) return where;
  const record = await calls.get(named);
  return { ...where, callId: [...new Set([named, record?.key ?? named, record?.call.id ?? named])] };
}

/** Returns undefined when the log was never verified. */
function lastChecked({ audit: { checked: last } }: Runtime): Input<typeof checked> | undefined {
  return last && { ...verificationToWire(last.found), at: last.at };
}

async function* linesAsBytes(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line.endsWith("\n") ? line : `${line}\n`);
}

/** A signed note has the number of entries on its second line. */
function entriesOf(note: string): number {
  return Number(note.split("\n")[1]);
}

async function keptHead({ audit: log }: Runtime, name: string): Promise<string | undefined> {
  for (let before: number | undefined; ; ) {
    const page = await log.latest({ type: headKept, ...defined({ before }) });
    for (const { data } of page.events)
      if (isJsonObject(data) && data["log"] === name && typeof data["note"] === "string") return data["note"];
    before = page.nextBefore;
    if (before === undefined) return undefined;
  }
}
