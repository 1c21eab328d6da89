import { type ApprovalRecord, defined, endEvents, isJsonObject, type JsonObject } from "@postern/core";
import type { EventFields } from "../../audit/parts.ts";
import type { CallEnd, Notice, NoticeType } from "./channel.ts";

export const noticeTypes: readonly NoticeType[] = [
  "approval.requested",
  "approval.edited",
  "approval.decided",
  "approval.expiring",
  "approval.escalated",
  "call.ended",
  "alarm.opened",
  "alarm.resolved",
];

/** The ends of a call that ran. */
const ends: ReadonlyMap<string, CallEnd["as"]> = new Map([
  [endEvents.succeeded.audit, "ok"],
  [endEvents.failed.audit, "failed"],
  [endEvents.unknown.audit, "unknown"],
]);

const byType: ReadonlyMap<string, NoticeType> = new Map<string, NoticeType>([
  ["gate.required", "approval.requested"],
  ["approval.reminder", "approval.expiring"],
  ["approval.escalated", "approval.escalated"],
  ["alarm.resolved", "alarm.resolved"],
  ...["approved", "denied", "skipped", "modified", "expired", "withdrawn", "revoked"].map(
    (word): [string, NoticeType] => [`gate.${word}`, "approval.decided"],
  ),
]);

/** Under a quorum an edit is a vote. It voids the other votes, so the others are asked again. */
const voted = "approval.voted";

/** Returns undefined if such an entry makes no notice. */
export function noticeTypeOf({
  type,
  data,
  refs,
}: Pick<EventFields, "type" | "data" | "refs">): NoticeType | undefined {
  if (ends.has(type)) return refs.approval === undefined ? undefined : "call.ended";
  if (type === voted) return isJsonObject(data) && data["as"] === "modified" ? "approval.edited" : undefined;
  return byType.get(type) ?? (type.startsWith("alarm.") && type !== "alarm.acknowledged" ? "alarm.opened" : undefined);
}

const typePattern = /"type":"((?:gate|approval|alarm|tool_call)\.[a-z_]+)"/;

/** A cheap check before the entry is parsed: nearly all entries make no notice. */
export function mayHaveNotice(body: string): boolean {
  const [, type = ""] = typePattern.exec(body) ?? [];
  if (ends.has(type)) return body.includes('"approval":"');
  return type === voted || (type !== "" && noticeTypeOf({ type, refs: {} }) !== undefined);
}

/** A reminder belongs to no call and names its approval in its data. */
export function approvalIn({ refs, data }: EventFields): string | undefined {
  const named = isJsonObject(data) ? data["approval_id"] : undefined;
  return refs.approval ?? (typeof named === "string" ? named : undefined);
}

export interface NoticeParts {
  readonly id: string;
  readonly type: NoticeType;
  readonly entry: EventFields;
  readonly approval: ApprovalRecord | undefined;
  /** The console's address, without a slash at its end. */
  readonly console: string | undefined;
}

export function noticeFrom({ id, type, entry, approval, console }: NoticeParts): Notice {
  const { timestamp, tenant, summary, data, code, decided_by, reason, latency_ms: durationMs } = entry;
  const as = ends.get(entry.type);
  const path = approval === undefined ? "/alarms" : `/approvals/${encodeURIComponent(approval.id)}`;
  const details: JsonObject = {
    ...(isJsonObject(data) && data),
    ...defined({ approval_id: approvalIn(entry), code, decided_by, reason }),
  };
  const link = console === undefined ? undefined : `${console}${path}`;
  const end = as && defined({ as, durationMs });
  return defined({ id, type, at: timestamp, tenant, summary, data: details, approval, end, link });
}

const asking: ReadonlySet<NoticeType> = new Set([
  ...(["approval.requested", "approval.edited", "approval.expiring", "approval.escalated"] as const),
]);

/** A decided or expired request needs no notice that asks. */
export function isStillAsked({ type, approval }: Notice, now: number): boolean {
  if (!asking.has(type)) return true;
  return approval === undefined || (approval.state === "pending" && approval.expiresAt > now);
}
