import type { DurableEvent } from "../core/event.ts";
import { canonical, type JsonObject } from "../core/json.ts";
import type { SerializeEvent } from "../store/store.ts";
import { auditBody, type Clean } from "./fields.ts";
import { Timestamps } from "./timestamps.ts";

/**
 * How an event is kept: the canonical JSON of an `AuditEvent` without its id and number (SPEC 14.7).
 *
 * Contract: never throws for anything a caller, a tool or a person wrote; equal events give equal text.
 *
 * @param redact masks known secrets; every text that came from outside passes it
 */
export function spellWith(redact: (text: string) => string): SerializeEvent {
  const clean: Clean = (text) => redact(text).toWellFormed();
  const timestamps = new Timestamps();
  return (event: DurableEvent) => {
    const body = auditBody(event, clean, timestamps);
    // Only `data` may have members that others named. All other members stand in canonical order already.
    return body.data === undefined ? JSON.stringify(body) : canonical(body as JsonObject); // both leave undefined out
  };
}
