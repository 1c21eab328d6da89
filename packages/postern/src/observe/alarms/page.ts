import { checkMembers, type Kind, RuntimeFault } from "@postern/core";
import type { Alarm, AlarmFilter, AlarmPage, AlarmState } from "./alarms.ts";

const members: Readonly<Record<keyof AlarmFilter, Kind>> = {
  tenant: "a text",
  state: ["open", "acked", "resolved"],
  limit: "a whole number from 0",
  after: "a text",
};

const ranks: Readonly<Record<AlarmState, number>> = { open: 0, acked: 1, resolved: 2 };

type Placed = Pick<Alarm, "state" | "lastSeen" | "id">;

/** Open ones first, then acknowledged ones; of each the latest first. */
function inOrder(one: Placed, other: Placed): number {
  return ranks[one.state] - ranks[other.state] || other.lastSeen - one.lastSeen || (one.id < other.id ? -1 : 1);
}

/**
 * A page of the alarms that the filter lets through. The cursor is the place of the last alarm when the page was made, so
 * an alarm that moves meanwhile does not shift the others.
 *
 * @throws RuntimeFault `request_invalid` that names the member and the value
 */
export function pageOf(alarms: readonly Alarm[], where: AlarmFilter): AlarmPage {
  checkMembers(where, { code: "request_invalid", what: "The filter", members, of: "alarms" });
  const { tenant, state, limit = 1_000, after } = where;
  const from = after === undefined ? undefined : placeIn(after);
  const found = alarms
    .filter((alarm) => tenant === undefined || alarm.tenant === tenant)
    .filter((alarm) => state === undefined || alarm.state === state)
    .filter((alarm) => from === undefined || inOrder(from, alarm) < 0)
    .sort(inOrder);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  if (last === undefined || shown.length === found.length) return { alarms: shown };
  return { alarms: shown, nextAfter: `${last.state}@${last.lastSeen}@${last.id}` };
}

function placeIn(cursor: string): Placed {
  const [, state, at, id] = /^(open|acked|resolved)@(\d{1,16})@(.+)$/.exec(cursor) ?? [];
  if (!isState(state) || id === undefined)
    throw new RuntimeFault("request_invalid", `\`after\` is a page's \`nextAfter\`, not \`${cursor.slice(0, 100)}\`.`);
  return { state, lastSeen: Number(at), id };
}

function isState(state: string | undefined): state is AlarmState {
  return state !== undefined && Object.hasOwn(ranks, state);
}
