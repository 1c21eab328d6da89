import type { Alarm, AlarmWord } from "../alarms/alarms.ts";
import type { JsonObject } from "../calls/json.ts";
import { iso } from "./wire.ts";

interface AlarmWordWire {
  readonly by?: string | undefined;
  readonly via?: string | undefined;
  readonly at: string;
  readonly reason?: string | undefined;
}

export interface AlarmWire {
  readonly alarm_id: string;
  readonly kind: string;
  readonly state: Alarm["state"];
  readonly severity: Alarm["severity"];
  readonly summary: string;
  readonly dedupe_key: string;
  readonly count: number;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly acked?: AlarmWordWire | undefined;
  readonly resolved?: AlarmWordWire | undefined;
  readonly data: JsonObject;
}

export function alarmToWire(alarm: Alarm): AlarmWire {
  return {
    alarm_id: alarm.id,
    kind: alarm.kind,
    state: alarm.state,
    severity: alarm.severity,
    summary: alarm.summary,
    dedupe_key: alarm.key,
    count: alarm.count,
    first_seen: iso(alarm.firstSeen),
    last_seen: iso(alarm.lastSeen),
    acked: alarm.acked && wordToWire(alarm.acked),
    resolved: alarm.resolved && wordToWire(alarm.resolved),
    data: alarm.data,
  };
}

function wordToWire({ by, via, at, reason }: AlarmWord): AlarmWordWire {
  return { by, via, at: iso(at), reason };
}
