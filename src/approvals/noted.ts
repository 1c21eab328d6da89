import type { NotedEvent } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";
import { isOpen } from "./routed.ts";
import type { Due } from "./sweeper.ts";

interface Told extends Pick<NotedEvent, "type" | "summary" | "at" | "policyVersion"> {
  readonly by?: string;
  readonly via?: string;
  readonly data?: JsonObject;
}

/** Something about a request that ends nothing, as an event of its trace: `approval.voted`, `approval.reminder`, … */
export function tell(approval: ApprovalRecord, told: Told): NotedEvent {
  const { id, tool, action, risk, runId, traceId, principal } = approval;
  return {
    moment: "noted",
    at: told.at,
    type: told.type,
    summary: told.summary,
    traceId,
    tenant: principal.tenant,
    ...(told.by !== undefined && { by: told.by }),
    ...(told.via !== undefined && { via: told.via }),
    policyVersion: told.policyVersion,
    outcome: "info",
    data: { approval_id: id, tool, action, risk, run: runId, ...told.data },
  };
}

export function reminding(approval: ApprovalRecord, due: Due, when: Pick<Told, "at" | "policyVersion">): NotedEvent {
  const { tool, expiresAt, routed } = approval;
  const expires_at = new Date(expiresAt).toISOString();
  if (due === "reminder")
    return tell(approval, {
      ...when,
      type: "approval.reminder",
      summary: `${tool} still waits for a person, until ${expires_at}`,
      data: { expires_at, to: { ...routed?.to } },
    });
  const to = routed?.escalateTo ?? {};
  const names = [...(to.users ?? []), ...(to.roles ?? []), ...(to.groups ?? [])].join(", ");
  const whom = isOpen(to) ? "whoever may decide" : names;
  return tell(approval, {
    ...when,
    type: "approval.escalated",
    summary: `${tool} still waits for a person; ${whom} may decide as well`,
    data: { expires_at, to: { ...to } },
  });
}
