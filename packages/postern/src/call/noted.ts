import {
  type ApprovalEndName,
  commentedType,
  endEvents,
  momentNames,
  type NotedEvent,
  RuntimeFault,
  shown,
} from "@postern/core";
import { checkPrincipal } from "./authority.ts";

/** The verifier reads it. */
export const entriesErased = "runtime.entries_erased";

const decided: Readonly<Record<ApprovalEndName, true>> = {
  approved: true,
  denied: true,
  skipped: true,
  modified: true,
  expired: true,
  withdrawn: true,
  revoked: true,
};
/** Event types that only Postern itself may write: the path of a call, and retention. */
const ownWords: ReadonlySet<string> = new Set<string>([
  momentNames.held.audit,
  commentedType,
  momentNames.attempted.audit,
  ...Object.keys(decided).map((word) => `${momentNames.decided.audit}.${word}`),
  ...Object.values(endEvents).map(({ audit }) => audit),
  entriesErased,
]);
const outcomes: ReadonlySet<unknown> = new Set(["success", "failure", "suppressed", "info"]);

/** @throws RuntimeFault `request_invalid` for an event that cannot stand in the log, or would look like one of Postern's own */
export function checkNote(
  type: string,
  summary: string,
  more: Partial<Pick<NotedEvent, "by" | "via" | "tenant" | "principal" | "outcome">>,
): void {
  if (typeof more !== "object" || more === null) throw invalid("more", more, "an object");
  const texts = { type, summary, by: more.by, via: more.via, tenant: more.tenant };
  for (const [name, value] of Object.entries(texts)) {
    const mayMiss = name !== "type" && name !== "summary";
    if (mayMiss && value === undefined) continue;
    if (typeof value !== "string" || value === "") throw invalid(name, value, "a text that is not empty");
  }
  if (ownWords.has(type))
    throw new RuntimeFault("request_invalid", `\`${type}\` is written by Postern alone; use a type of your own.`);
  if (more.outcome !== undefined && !outcomes.has(more.outcome))
    throw invalid("outcome", more.outcome, "success, failure, suppressed or info");
  if (more.principal !== undefined) checkPrincipal(more.principal);
}

function invalid(name: string, value: unknown, wanted: string): RuntimeFault {
  return new RuntimeFault("request_invalid", `\`${name}\` of the note is ${shown(value)}; it must be ${wanted}.`);
}
