import { type Defined as Fields, given } from "../../core/given.ts";
import { isJsonObject } from "../../core/json.ts";
import { counted } from "../../core/shown.ts";
import type { Runtime } from "../../runtime/api.ts";
import { audit, type checked } from "../contract/audit.ts";
import type { Input, QueryOf } from "../contract/route.ts";
import { problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { givenVerification } from "./given-verification.ts";
import { type Route, serve } from "./route.ts";
import { seesEntry, tenantSeen } from "./visible.ts";

const headKept = "operator.action.audit_head_kept";

export const auditRoutes: readonly Route[] = serve(audit, {
  list: async ({ runtime, by, query: { limit = 200, after, ...where } }) => {
    const filter = await filterOf(runtime, where);
    const events = await runtime.audit.query({ ...filter, ...given({ after }), limit, ...tenantSeen(by) });
    return {
      events,
      next_after: events.length === limit ? events.at(-1)?.seq : undefined,
      checked: lastChecked(runtime),
    };
  },
  latest: async ({ runtime, by, query: { agent, run_id: runId, text, before, ...where } }) => {
    const filter = await filterOf(runtime, where);
    const more = given({ agent, runId, text, before });
    const { events, nextBefore } = await runtime.audit.latest({ ...filter, ...more, ...tenantSeen(by) });
    return { events, next_before: nextBefore, size: runtime.audit.size, checked: lastChecked(runtime) };
  },
  verify: async ({ runtime, query }) => givenVerification(await runtime.audit.verify(query.against)),
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

type Filter = Omit<QueryOf<typeof audit.list>, "after" | "limit"> & { readonly limit?: number };

/** A recorded call has a key and arrivals: the name of any of them finds the events of all. */
async function filterOf(
  { calls }: Pick<Runtime, "calls">,
  { trace_id: traceId, call_id: named, type: types, ...same }: Filter,
): Promise<
  Omit<Filter, "trace_id" | "call_id" | "type"> &
    Fields<{
      readonly type: readonly string[] | undefined;
      readonly traceId: string | undefined;
      readonly callId: readonly string[] | undefined;
    }>
> {
  const record = named === undefined ? undefined : await calls.get(named);
  const callId =
    named === undefined ? undefined : [...new Set([named, record?.key ?? named, record?.call.id ?? named])];
  const type = types?.split(",").filter((one) => one !== "");
  return { ...same, ...given({ type, traceId, callId }) };
}

/** Undefined when the log was never verified. */
function lastChecked({ audit: { checked: last } }: Runtime): Input<typeof checked> | undefined {
  return last && { ...givenVerification(last.found), at: last.at };
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
    const page = await log.latest({ type: headKept, ...(before !== undefined && { before }) });
    for (const { data } of page.events)
      if (isJsonObject(data) && data["log"] === name && typeof data["note"] === "string") return data["note"];
    before = page.nextBefore;
    if (before === undefined) return undefined;
  }
}
