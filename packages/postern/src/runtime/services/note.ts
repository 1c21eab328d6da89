import { type NotedEvent, newTraceId } from "@postern/core";
import { checkNote } from "../../call/noted.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { Store } from "../../store/store.ts";

export interface SystemNote extends Pick<NotedEvent, "type" | "summary"> {
  readonly more: Partial<Pick<NotedEvent, "by" | "via" | "tenant" | "principal" | "outcome" | "data">>;
}

/** Writes an event that belongs to no call, with secrets masked. @throws RuntimeFault `request_invalid` */
export async function recordNote(
  { type, summary, more }: SystemNote,
  { clock, policy, redactor }: Pick<Parts, "clock" | "policy" | "redactor">,
  store: Pick<Store, "commit">,
): Promise<void> {
  checkNote(type, summary, more);
  await writeNote({ type, summary, more }, { clock, policy, redactor }, store);
}

/** The same for a type that only Postern writes. */
export async function writeNote(
  { type, summary, more }: SystemNote,
  { clock, policy, redactor }: Pick<Parts, "clock" | "policy" | "redactor">,
  store: Pick<Store, "commit">,
): Promise<void> {
  const event: NotedEvent = {
    moment: "noted",
    at: clock.now(),
    type: redactor.redact(type),
    summary: redactor.redact(summary),
    traceId: newTraceId(),
    policyVersion: policy.version,
    outcome: "info",
    ...redactJson(more, redactor),
  };
  await store.commit({ write: "note", event }, "committed");
}
