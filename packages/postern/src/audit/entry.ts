import { canonical, type JsonObject, storedEventIn } from "@postern/core";
import type { SerializeEvent } from "../store/store.ts";
import { Contexts } from "./context.ts";
import { callPart, Timestamps } from "./fields.ts";
import type { Clean, EventFields } from "./parts.ts";

/**
 * How an event is stored: the canonical JSON of `{ "call", "context" }`, an `AuditEvent` without its id and number in two
 * parts.
 *
 * Contract: never throws for anything that a caller, a tool or a person wrote; equal events give equal text.
 *
 * @param redact masks known secrets; every text from outside passes it
 * @param secrets how many it masks. Without it, no text is kept from one event for the next
 */
export function serializeWith(
  redact: (text: string) => string,
  secrets: () => number | undefined = () => undefined,
): SerializeEvent {
  const clean: Clean = (text) => redact(text).toWellFormed();
  const timestamps = new Timestamps();
  const contexts = new Contexts(clean, secrets);
  return (event) => {
    const { text, name } = contexts.of(event);
    const call = callPart(event, { clean, timestamp: timestamps.textOf(event.at), name });
    // Only `data` may have members that others named. All other members are in canonical order already.
    const own = call.data === undefined ? JSON.stringify(call) : canonical(call as unknown as JsonObject); // both leave undefined out
    return `{"call":${own},"context":${text}}`;
  };
}

/** An event by its stored text. Returns undefined if `serializeWith` did not write it; `verify` names such an entry. */
export function eventIn(body: string): EventFields | undefined {
  return storedEventIn(body) as EventFields | undefined; // `refs` is checked, the rest is only compared and shown
}
