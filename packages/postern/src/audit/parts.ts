/** The two parts of a stored event. Their members are in the order of their names, as in canonical JSON. */
import type { AuditEvent } from "./log.ts";

/** An event without its id and number, which are its place in the log. */
export type EventFields = Omit<AuditEvent, "audit_id" | "seq">;
/** Undefined members are not written. */
type Written<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

type SharedName =
  | ("action" | "autonomy_level" | "connector_id" | "policy_version" | "principal" | "reasons")
  | ("risk_level" | "tenant" | "tool_name" | "trace_id" | "verdict");
type OwnFields = Omit<EventFields, SharedName | "refs">;
type RequiredName = "outcome" | "stage" | "summary" | "timestamp" | "type";

/** What an event says alone. */
export type CallPart = Pick<OwnFields, RequiredName> &
  Written<Omit<OwnFields, RequiredName>> & { readonly refs: Written<EventFields["refs"]> };
/** What it has in common with others. */
export type ContextPart = Written<Pick<EventFields, SharedName | "refs">>;

/** Masks known secrets and replaces half surrogates. Every text from outside passes it. */
export type Clean = (text: string) => string;
