/**
 * Makes the rows of the waterfall from calls: their depth, and what each part of their time was spent on.
 *
 * Invariant: waiting for a person never counts as work, and nothing is longer than it is known to have lasted.
 */
import type { TimelineApproval, TimelineCall } from "@postern/core/contract";

export type Part = "gates" | "person" | "decided" | "running";

export interface Segment {
  readonly part: Part;
  /** Wall clock, milliseconds. */
  readonly from: number;
  readonly to: number;
  /** It has not ended. */
  readonly isOpen: boolean;
}

export interface Row {
  readonly call: TimelineCall;
  /** 0 at the top; 1 for a call of a script. */
  readonly depth: number;
  readonly segments: readonly Segment[];
  readonly waitingMs: number;
  readonly runningMs: number;
  /** It called others: their times are in its own times too. */
  readonly isScript: boolean;
}

/** Old to new, calls of a script under their script. */
export function rowsOf(calls: readonly TimelineCall[], now: number): readonly Row[] {
  const sorted = [...calls].sort((one, other) => (one.call_id < other.call_id ? -1 : 1));
  const ids = new Map(
    sorted.flatMap(
      ({ call_id, key = call_id }) =>
        [
          [call_id, call_id],
          [key, call_id],
        ] as const,
    ),
  );
  const children = new Map<string, TimelineCall[]>();
  for (const call of sorted) {
    const parent = (call.parent_id === undefined ? undefined : ids.get(call.parent_id)) ?? "";
    children.set(parent, [...(children.get(parent) ?? []), call]);
  }
  const rows: Row[] = [];
  const seen = new Set<string>();
  const add = (parent: string, depth: number): void => {
    for (const call of children.get(parent) ?? []) {
      if (seen.has(call.call_id)) continue;
      seen.add(call.call_id);
      rows.push(rowOf(call, depth, { now, children: children.get(call.call_id) ?? [] }));
      add(call.call_id, depth + 1);
    }
  };
  add("", 0);
  return rows;
}

/** The time during which at least one of them was in this part: five that wait together for a minute count as a minute. */
export function wallTime(rows: readonly Row[], part: Part): number {
  const stretches = rows
    .flatMap(({ segments }) => segments.filter((one) => one.part === part))
    .sort((one, other) => one.from - other.from);
  let total = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { from, to } of stretches) {
    total += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return total;
}

interface Around {
  readonly now: number;
  readonly children: readonly TimelineCall[];
}

function rowOf(call: TimelineCall, depth: number, { now, children }: Around): Row {
  const isScript = children.length > 0;
  const segments = isScript ? segmentsOfScript(call, { now, children }) : segmentsOf(call, now);
  const spent = (part: Part): number =>
    segments.filter((one) => one.part === part).reduce((sum, { from, to }) => sum + to - from, 0);
  return { call, depth, segments, waitingMs: spent("person"), runningMs: spent("running"), isScript };
}

export const ended: ReadonlySet<string> = new Set(["ok", "failed", "denied", "refused", "unknown"]);

/** In order, without overlap. A clock that was set back makes a segment of no length, never a negative one. */
function segmentsOf(call: TimelineCall, now: number): readonly Segment[] {
  const { approval } = call;
  const isOver = ended.has(call.state);
  const marks: readonly (readonly [part: Part, from: string | undefined])[] = [
    ["gates", call.arrived_at],
    ["person", approval?.asked_at],
    ["decided", approval?.decided_at],
    ["running", call.started_at],
  ];
  const begun = marks.flatMap(([part, from]) => (from === undefined ? [] : [{ part, from: Date.parse(from) }]));
  const last = Math.max(...begun.map(({ from }) => from));
  // The end of a call that ran when the process died is not known.
  const end = call.ended_at !== undefined ? Date.parse(call.ended_at) : isOver ? last : now;
  return begun.map(({ part, from }, at) => {
    const isLast = at === begun.length - 1;
    const to = isLast ? end : (begun[at + 1]?.from ?? end);
    return { part, from, to: Math.max(from, to), isOpen: isLast && !isOver };
  });
}

/**
 * The record of a frozen script only has the time of its last resume. So it waited while one of its calls waited, and
 * ran otherwise.
 */
function segmentsOfScript(call: TimelineCall, { now, children }: Around): readonly Segment[] {
  const isOver = ended.has(call.state);
  const end = isOver && call.ended_at !== undefined ? Date.parse(call.ended_at) : now;
  const waits = children
    .flatMap(({ approval, started_at, state }) => (approval === undefined ? [] : [{ approval, started_at, state }]))
    .sort((one, other) => Date.parse(one.approval.asked_at) - Date.parse(other.approval.asked_at));
  const segments: Segment[] = [];
  let at = Date.parse(call.arrived_at);
  const until = (to: number, part: Part): void => {
    const bound = Math.min(to, end);
    if (bound > at) segments.push({ part, from: at, to: bound, isOpen: false });
    at = Math.max(at, bound);
  };
  for (const { approval, started_at, state } of waits) {
    until(Date.parse(approval.asked_at), "running");
    until(approval.decided_at === undefined ? waitedUntil(approval, end) : Date.parse(approval.decided_at), "person");
    if (started_at !== undefined) until(Date.parse(started_at), "decided");
    else if (approval.status === "approved" && state === "held") until(end, "decided");
  }
  until(end, "running");
  const last = segments.at(-1);
  if (isOver || last === undefined) return segments;
  return [...segments.slice(0, -1), { ...last, isOpen: true }];
}

/** For a request that is not decided: until it expires. */
function waitedUntil({ status, expires_at }: TimelineApproval, end: number): number {
  return status === "pending" ? end : Math.min(end, Date.parse(expires_at));
}

export interface Scale {
  /** 0 to 1. */
  place(at: number): number;
  readonly from: number;
  readonly to: number;
}

/** Proportional to time. */
export function trueScale(rows: readonly Row[]): Scale {
  const { from, to } = spanOf(rows);
  const width = Math.max(1, to - from);
  return { from, to, place: (at) => Math.min(1, Math.max(0, (at - from) / width)) };
}

/**
 * Each time between two moments is as wide as the logarithm of its length, so that a call of five milliseconds and an
 * approval that took an hour are both visible.
 */
export function compressedScale(rows: readonly Row[]): Scale {
  const { from, to } = spanOf(rows);
  const moments = [...new Set(rows.flatMap(({ segments }) => segments.flatMap((one) => [one.from, one.to])))].sort(
    (one, other) => one - other,
  );
  const places: number[] = [0];
  for (let i = 1; i < moments.length; i += 1)
    places.push((places[i - 1] ?? 0) + Math.log2(1.5 + ((moments[i] ?? 0) - (moments[i - 1] ?? 0))));
  const width = Math.max(1, places.at(-1) ?? 1);
  const place = (at: number): number => {
    const next = upper(moments, at);
    if (next === 0) return 0;
    const [before, after] = [moments[next - 1] ?? from, moments[next]];
    const start = places[next - 1] ?? 0;
    if (after === undefined) return Math.min(1, start / width);
    const part = after === before ? 0 : (at - before) / (after - before);
    return (start + part * ((places[next] ?? start) - start)) / width;
  };
  return { from, to, place };
}

function spanOf(rows: readonly Row[]): { readonly from: number; readonly to: number } {
  const all = rows.flatMap(({ segments }) => segments);
  if (all.length === 0) return { from: 0, to: 1 };
  const from = all.reduce((least, one) => Math.min(least, one.from), Number.POSITIVE_INFINITY);
  const to = all.reduce((most, one) => Math.max(most, one.to), 0);
  return { from, to };
}

/** How many moments are at or before it. */
function upper(moments: readonly number[], at: number): number {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((moments[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
