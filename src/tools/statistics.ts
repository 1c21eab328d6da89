import type { CallEvent } from "../core/event.ts";

/**
 * How the calls of one action went since the start.
 *
 * @public
 */
export interface ActionStatistics {
  readonly tool: string;
  readonly action: string;
  /** Executions, with whatever end. */
  readonly calls: number;
  /** Of those: failed, or nobody knows how they ended. */
  readonly errors: number;
  readonly unknown: number;
  /** Arrivals that policy, a person or a limit turned away. */
  readonly refused: number;
  /** Milliseconds of execution, waiting for people left out, to a tenth; over the last one to two hours. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /** Wall clock, milliseconds. */
  readonly lastCallAt?: number;
  readonly lastErrorAt?: number;
  /** The refusal's code. */
  readonly lastErrorCode?: string;
}

/**
 * One minute of everything.
 *
 * @public
 */
export interface Minute {
  /** Its first moment: wall clock, milliseconds. */
  readonly at: number;
  readonly ok: number;
  readonly failed: number;
  readonly refused: number;
  readonly unknown: number;
  /** Arrivals that were shown what they would do, and did nothing. */
  readonly previewed: number;
  /** Calls for which a person was asked. */
  readonly asked: number;
}

type EndedEvent = Extract<CallEvent, { readonly moment: "ended" }>;
type CountName = Exclude<keyof Minute, "at">;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const minutesKept = 60;
/** More actions than this, of all tenants, and more tenants than this are not counted. */
const mostActions = 10_000;
const mostTenants = 1_000;
/** Eight steps to a doubling, so a percentile is right to a tenth; from an eighth of a millisecond to days. */
const steps = 8;
const buckets = 256;
const none = new Uint32Array(buckets);

/**
 * Looks on: counts how calls end, for each tenant by itself. A few numbers for each action, whatever happens; nothing is
 * kept over a restart.
 *
 * @public
 */
export class ToolStatistics {
  readonly #tenants = new Map<string, TenantCounts>();
  #counters = 0;
  #startedAt: number | undefined;
  #latestAt = -Infinity;

  /** Wall clock of the first moment that was seen. */
  get since(): number | undefined {
    return this.#startedAt;
  }

  readonly see = (event: CallEvent): void => {
    if (event.moment === "held") {
      const counts = this.#countsAt(event.at, event.call);
      if (counts !== undefined) counts.minute(event.at).asked += 1;
      return;
    }
    if (event.moment !== "ended") return;
    const as = countOf(event);
    if (as === undefined) return;
    const counts = this.#countsAt(event.at, event.call);
    if (counts === undefined) return;
    counts.minute(event.at)[as] += 1;
    if (event.weighing !== undefined) this.#counter(counts, event)?.add(event, as); // its tool is one that is offered
  };

  /** Of one tenant; `default` unless it is named. */
  actions(tenant = "default"): readonly ActionStatistics[] {
    const actions = this.#tenants.get(tenant)?.actions ?? new Map<string, Map<string, Counter>>();
    return [...actions].flatMap(([tool, counters]) =>
      [...counters].map(([action, counter]) => ({ tool, action, ...counter.view() })),
    );
  }

  /** Of one tenant, `default` unless it is named. Old to new; those in which nothing happened are left out. */
  minutes(tenant = "default"): readonly Minute[] {
    const since = this.#latestAt - minutesKept * minuteMs; // a tenant that is quiet has no last hour of its own
    return (this.#tenants.get(tenant)?.minutes ?? []).filter(({ at }) => at > since).map((minute) => ({ ...minute }));
  }

  #countsAt(at: number, { authority }: EndedEvent["call"]): TenantCounts | undefined {
    const { tenant } = authority.principal;
    this.#startedAt ??= at;
    if (at > this.#latestAt) this.#latestAt = at;
    const known = this.#tenants.get(tenant);
    if (known !== undefined || this.#tenants.size >= mostTenants) return known;
    const counts = new TenantCounts();
    this.#tenants.set(tenant, counts);
    return counts;
  }

  #counter({ actions }: TenantCounts, { call: { tool, action } }: EndedEvent): Counter | undefined {
    const counters = actions.get(tool);
    const known = counters?.get(action);
    if (known !== undefined || this.#counters >= mostActions) return known;
    const counter = new Counter();
    this.#counters += 1;
    if (counters === undefined) actions.set(tool, new Map([[action, counter]]));
    else counters.set(action, counter);
    return counter;
  }
}

class TenantCounts {
  readonly actions: Map<string, Map<string, Counter>> = new Map();
  readonly minutes: Record<keyof Minute, number>[] = [];

  minute(now: number): Record<keyof Minute, number> {
    const at = Math.floor(now / minuteMs) * minuteMs;
    const last = this.minutes.at(-1);
    if (last !== undefined && last.at >= at) return last; // a clock that was set back stays in its last minute
    const fresh = { at, ok: 0, failed: 0, refused: 0, unknown: 0, previewed: 0, asked: 0 };
    this.minutes.push(fresh);
    while ((this.minutes[0]?.at ?? at) <= at - minutesKept * minuteMs) this.minutes.shift();
    return fresh;
  }
}

class Counter {
  #calls = 0;
  #errors = 0;
  #unknown = 0;
  #refused = 0;
  #lastCallAt: number | undefined;
  #lastErrorAt: number | undefined;
  #lastErrorCode: string | undefined;
  #now = new Uint32Array(buckets);
  #before = none;
  #hour = 0;

  add(event: EndedEvent, as: CountName): void {
    this.#lastCallAt = event.at;
    if (as === "refused") this.#refused += 1;
    if (as === "refused" || as === "previewed") return;
    this.#calls += 1;
    this.#turn(event.at);
    const bucket = bucketOf(event.latencyMs);
    this.#now[bucket] = (this.#now[bucket] ?? 0) + 1;
    if (as === "ok") return;
    this.#errors += 1;
    if (as === "unknown") this.#unknown += 1;
    this.#lastErrorAt = event.at;
    this.#lastErrorCode = event.code ?? event.outcome.refusal?.code;
  }

  view(): Omit<ActionStatistics, "tool" | "action"> {
    const counts = this.#now.map((count, i) => count + (this.#before[i] ?? 0));
    const p50Ms = percentile(counts, 0.5);
    const p95Ms = percentile(counts, 0.95);
    return {
      calls: this.#calls,
      errors: this.#errors,
      unknown: this.#unknown,
      refused: this.#refused,
      ...(p50Ms !== undefined && { p50Ms }),
      ...(p95Ms !== undefined && { p95Ms }),
      ...(this.#lastCallAt !== undefined && { lastCallAt: this.#lastCallAt }),
      ...(this.#lastErrorAt !== undefined && { lastErrorAt: this.#lastErrorAt }),
      ...(this.#lastErrorCode !== undefined && { lastErrorCode: this.#lastErrorCode }),
    };
  }

  /** What is older than the hour before this one says nothing about how fast the tool is. */
  #turn(now: number): void {
    const hour = Math.floor(now / hourMs);
    if (hour <= this.#hour) return;
    this.#before = hour === this.#hour + 1 ? this.#now : none;
    this.#now = new Uint32Array(buckets);
    this.#hour = hour;
  }
}

/** What an arrival counts as; undefined: it is not over, or it is another arrival of what is counted already. */
function countOf({ as, code }: EndedEvent): CountName | undefined {
  switch (as) {
    case "succeeded":
      return "ok";
    case "failed":
      return "failed";
    case "unknown":
      return "unknown";
    case "refused":
      return code === "approval_timed_out" ? undefined : "refused"; // its request is open still
    case "blocked":
    case "antiflap_blocked":
    case "storm_blocked":
      return "refused";
    case "previewed":
      return "previewed";
    case "deduped":
    case "cancelled":
    case "suspended":
    case "settled":
      return undefined;
  }
}

function bucketOf(ms: number): number {
  return Math.min(buckets - 1, Math.round(steps * Math.log2(8 * Math.max(ms, 0) + 1)));
}

function percentile(counts: Uint32Array, part: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = Math.ceil(total * part);
  if (left === 0) return undefined;
  for (const [bucket, count] of counts.entries()) {
    left -= count;
    if (left <= 0) return Math.round(((2 ** (bucket / steps) - 1) / 8) * 100) / 100;
  }
  return undefined;
}
