import { isJsonObject, type Json, type JsonObject, sha256 } from "../calls/json.ts";
import type { Alarm, AlarmWord } from "./alarms.ts";

/** The kind of its documents. */
export const alarmKind = "alarm";

/** What an alarm that is not resolved is told by: its cause comes again under the same name. */
export function raisedName(tenant: string, key: string): string {
  return `${tenant}\u0000${key}`;
}

export function alarmId(tenant: string, key: string): string {
  return `alm_${sha256(raisedName(tenant, key)).slice(0, 24)}`;
}

export function alarmToJson({ id: _id, acked, resolved, ...alarm }: Alarm): JsonObject {
  return {
    ...alarm,
    ...(acked !== undefined && { acked: { ...acked } }),
    ...(resolved !== undefined && { resolved: { ...resolved } }),
  };
}

/** Undefined: not what `alarmToJson` wrote. */
export function alarmFromJson(id: string, body: Json): Alarm | undefined {
  if (!isJsonObject(body)) return undefined;
  const { kind, key, tenant, severity, summary, state, count, firstSeen, lastSeen, data } = body;
  if (typeof kind !== "string" || typeof key !== "string" || typeof tenant !== "string") return undefined;
  if (typeof summary !== "string" || typeof count !== "number") return undefined;
  if (typeof firstSeen !== "number" || typeof lastSeen !== "number" || !isJsonObject(data)) return undefined;
  if (severity !== "warning" && severity !== "critical") return undefined;
  if (state !== "open" && state !== "acked" && state !== "resolved") return undefined;
  const acked = wordFrom(body["acked"]);
  const resolved = wordFrom(body["resolved"]);
  return {
    ...{ id, kind, key, tenant, severity, summary, state, count, firstSeen, lastSeen, data },
    ...(acked !== undefined && { acked }),
    ...(resolved !== undefined && { resolved }),
  };
}

function wordFrom(body: Json | undefined): AlarmWord | undefined {
  if (!isJsonObject(body) || typeof body["at"] !== "number") return undefined;
  const { by, via, at, reason } = body;
  return {
    at,
    ...(typeof by === "string" && { by }),
    ...(typeof via === "string" && { via }),
    ...(typeof reason === "string" && { reason }),
  };
}
