import type { NotedEvent } from "../core/event.ts";
import { newTraceId } from "../core/ids.ts";
import { checkNote } from "../core/noted.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Store } from "../store/store.ts";

export interface SystemNote extends Pick<NotedEvent, "type" | "summary"> {
  readonly more: Partial<Pick<NotedEvent, "by" | "via" | "tenant" | "principal" | "outcome" | "data">>;
}

/** What is nobody's call, into the log: when this resolves it is there, and masked. @throws RuntimeFault `note_invalid` */
export async function note(
  { type, summary, more }: SystemNote,
  { clock, policy, redactor }: Pick<Parts, "clock" | "policy" | "redactor">,
  store: Pick<Store, "commit">,
): Promise<void> {
  checkNote(type, summary, more);
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
