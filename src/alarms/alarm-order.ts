import { RuntimeFault } from "../calls/fault.ts";
import type { Alarm, AlarmPage, AlarmState } from "./alarms.ts";

const ranks: Readonly<Record<AlarmState, number>> = { open: 0, acked: 1, resolved: 2 };

type Placed = Pick<Alarm, "state" | "lastSeen" | "id">;

/** Open ones first, then those that somebody knows of; of each the latest first. */
function inOrder(one: Placed, other: Placed): number {
  return ranks[one.state] - ranks[other.state] || other.lastSeen - one.lastSeen || (one.id < other.id ? -1 : 1);
}

/**
 * So many of them, behind a cursor. It says where its alarm stood when the page was made: one that moves meanwhile takes
 * nobody's place.
 *
 * @throws RuntimeFault `filter_invalid` when `after` is no page's
 */
export function pageOf(alarms: readonly Alarm[], limit: number, after: string | undefined): AlarmPage {
  const from = after === undefined ? undefined : placeIn(after);
  const found = alarms.filter((alarm) => from === undefined || inOrder(from, alarm) < 0).sort(inOrder);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  if (last === undefined || shown.length === found.length) return { alarms: shown };
  return { alarms: shown, nextAfter: `${last.state}@${last.lastSeen}@${last.id}` };
}

function placeIn(cursor: string): Placed {
  const [, state, at, id] = /^(open|acked|resolved)@(\d{1,16})@(.+)$/.exec(cursor) ?? [];
  if (!isState(state) || id === undefined)
    throw new RuntimeFault("filter_invalid", `\`after\` is a page's \`nextAfter\`, not \`${cursor.slice(0, 100)}\`.`);
  return { state, lastSeen: Number(at), id };
}

function isState(state: string | undefined): state is AlarmState {
  return state !== undefined && Object.hasOwn(ranks, state);
}
