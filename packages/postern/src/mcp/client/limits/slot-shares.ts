/** How the gateways of one store share the slots of a server: the document of the server, and the rules of its changes. */

/** What one gateway has. */
export interface SlotShare {
  /** So many calls it may run at a time. */
  readonly holds: number;
  /** So many calls wait there for a slot. */
  readonly wants: number;
  /** Gateways with equally many slots are served in this order. Each slot that one gets or gives moves it to the end. */
  readonly turn: number;
}

export interface SlotShares {
  /** The last turn that was given out. */
  readonly turn: number;
  /** By the ids of the gateways. A gateway that neither holds nor wants a slot is missing. */
  readonly gateways: Readonly<Record<string, SlotShare>>;
}

export const noShares: SlotShares = { turn: 0, gateways: {} };
const nothing: SlotShare = { holds: 0, wants: 0, turn: 0 };

export function shareOf({ gateways }: SlotShares, id: string): SlotShare {
  return Object.hasOwn(gateways, id) ? (gateways[id] ?? nothing) : nothing;
}

/** How many more calls the other gateways could run. */
function wantedByOthers({ gateways }: SlotShares, id: string): number {
  return Object.entries(gateways).reduce((sum, [other, { wants }]) => sum + (other === id ? 0 : wants), 0);
}

/** What runs and waits in a gateway. */
export interface SlotUse {
  readonly running: number;
  readonly waiting: number;
}

/** How many calls may run at a time here. */
export interface CallSlots {
  readonly usable: number;
  /** Called after each change of what runs and waits. */
  used(now: SlotUse): void;
}

/**
 * How many of its slots a gateway keeps. It gives those that it does not need if others want them. If its own calls wait
 * too, it gives until it has no more than they have; after an odd number, the last slot goes to and fro.
 */
export function slotsKept(shares: SlotShares, id: string, { running, waiting }: SlotUse): number {
  const { holds } = shareOf(shares, id);
  const wanted = wantedByOthers(shares, id);
  if (wanted === 0) return holds;
  if (waiting === 0) return Math.min(holds, Math.max(running, holds - wanted));
  const others = sharesOf(shares).filter(([other, { wants }]) => other !== id && wants > 0);
  let kept = holds;
  for (;;) {
    const next = first(others);
    if (next === undefined || next[1].holds >= kept) return kept;
    kept -= 1;
    next[1].holds += 1;
    next[1].wants -= 1;
  }
}

/** The shares with this of one gateway; what is free goes to those that want it, first to the one with the fewest. */
export function sharedOut(shares: SlotShares, id: string, use: Omit<SlotShare, "turn">, most: number): SlotShares {
  const before = shareOf(shares, id);
  const isLast = (before.wants === 0 && use.wants > 0) || use.holds < before.holds;
  let turn = isLast ? shares.turn + 1 : shares.turn;
  const mine = { ...use, turn: isLast ? turn : before.turn };
  const all = sharesOf({ turn, gateways: { ...shares.gateways, [id]: mine } });
  for (let free = most - inUse(shares) + before.holds - use.holds; free > 0; free -= 1) {
    const next = first(all);
    if (next === undefined) break;
    turn += 1;
    Object.assign(next[1], { holds: next[1].holds + 1, wants: next[1].wants - 1, turn });
  }
  const gateways = Object.fromEntries(all.filter(([, { holds, wants }]) => holds > 0 || wants > 0));
  return { turn, gateways };
}

/** Without the gateways whose share is over. */
export function without({ turn, gateways }: SlotShares, gone: ReadonlySet<string>): SlotShares {
  return { turn, gateways: Object.fromEntries(Object.entries(gateways).filter(([id]) => !gone.has(id))) };
}

type CountedShare = [string, { holds: number; wants: number; turn: number }];

function sharesOf({ gateways }: SlotShares): CountedShare[] {
  return Object.entries(gateways).map(([id, share]) => [id, { ...share }]);
}

function inUse({ gateways }: SlotShares): number {
  return Object.values(gateways).reduce((sum, { holds }) => sum + holds, 0);
}

/** The gateway that gets the next slot. */
function first(all: readonly CountedShare[]): CountedShare | undefined {
  return all
    .filter(([, { wants }]) => wants > 0)
    .sort(([, one], [, other]) => one.holds - other.holds || one.turn - other.turn)[0];
}
