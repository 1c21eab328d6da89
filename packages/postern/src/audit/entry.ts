import { canonical, type JsonObject } from "@postern/core";
import type { SerializeEvent } from "../store/store.ts";
import { auditBody, type Clean, Timestamps } from "./fields.ts";

/**
 * How an event is stored: the canonical JSON of an `AuditEvent` without its id and number.
 *
 * Contract: never throws for anything that a caller, a tool or a person wrote; equal events give equal text.
 *
 * @param redact masks known secrets; every text from outside passes it
 */
export function serializeWith(redact: (text: string) => string): SerializeEvent {
  const clean: Clean = (text) => redact(text).toWellFormed();
  const timestamps = new Timestamps();
  return (event) => {
    const body = auditBody(event, clean, timestamps);
    // Only `data` may have members that others named. All other members are in canonical order already.
    return body.data === undefined ? JSON.stringify(body) : canonical(body as JsonObject); // both leave undefined out
  };
}
