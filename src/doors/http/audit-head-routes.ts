import { z } from "@hono/zod-openapi";
import { isJsonObject } from "../../calls/json.ts";
import { counted } from "../../calls/shown.ts";
import type { Runtime } from "../../face.ts";
import { checkpointAnswer } from "./answer-schemas.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { nothing, type Route, route } from "./old-route.ts";

const type = "operator.action.audit_head_kept";

interface Head {
  readonly note: string;
}

/** The text of a signed note: origin, size and root on a line each, a blank line, signatures. */
const head: z.ZodType<Head> = z.strictObject({
  note: z
    .string()
    .max(4096)
    .regex(/^[^\n]+\n(0|[1-9][0-9]{0,15})\n[A-Za-z0-9+/=]+\n\n— /),
});

/** Heads of other Posterns' logs, kept in this one's log: nobody who holds the other can take them back. */
export const auditHeadRoutes: readonly Route[] = [
  route({
    method: "put",
    path: "/v1/audit/heads/{name}",
    needs: "audit:sign",
    summary: "Keep the head of another Postern's audit log, as its witness. One over fewer entries is refused.",
    body: head,
    query: nothing,
    answers: checkpointAnswer,
    run: async ({ runtime, by, part, body: { note } }) => {
      const name = part("name");
      const kept = await keptHead(runtime, name);
      if (kept === note) return answer({ note });
      if (kept !== undefined && entriesOf(note) <= entriesOf(kept))
        return problem(
          "head_behind",
          `The head kept for \`${name}\` signs ${counted(entriesOf(kept), "entry", "entries")}; one over ${entriesOf(note)} cannot follow it. Was that log cut off or rewritten?`,
        );
      await runtime.note(type, `Head of the audit log \`${name}\`: ${counted(entriesOf(note), "entry", "entries")}`, {
        ...actorOf(by),
        outcome: "success",
        data: { log: name, note },
      });
      return answer({ note });
    },
  }),
  route({
    method: "get",
    path: "/v1/audit/heads/{name}",
    needs: "audit:sign",
    summary: "The head that is kept for another Postern's audit log.",
    body: nothing,
    query: nothing,
    answers: checkpointAnswer,
    run: async ({ runtime, part }) => {
      const note = await keptHead(runtime, part("name"));
      return note === undefined
        ? problem("head_unknown", `No head is kept for \`${part("name")}\`.`)
        : answer({ note });
    },
  }),
];

function entriesOf(note: string): number {
  return Number(note.split("\n")[1]);
}

async function keptHead(runtime: Runtime, name: string): Promise<string | undefined> {
  for (let before: number | undefined; ; ) {
    const page = await runtime.audit.latest({ type, ...(before !== undefined && { before }) });
    for (const { data } of page.events)
      if (isJsonObject(data) && data["log"] === name && typeof data["note"] === "string") return data["note"];
    before = page.nextBefore;
    if (before === undefined) return undefined;
  }
}
