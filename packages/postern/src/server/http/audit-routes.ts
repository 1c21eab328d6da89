import { counted, defined, isJsonObject, noOpaqueFields, toCamelCase } from "@postern/core";
import { audit, type checked, type Input, type QueryOf } from "@postern/core/contract";
import type { AuditFilter, LatestFilter } from "../../audit/log.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { verificationToWire } from "../wire.ts";
import { problem } from "./answers.ts";
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
  export: ({ runtime }) =>
    new Response(ReadableStream.from(linesAsBytes(runtime.audit.export())), {
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "content-disposition": 'attachment; filename="audit.log"',
      },
    }),
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
