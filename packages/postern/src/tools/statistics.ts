import { type CallEvent, defined } from "@postern/core";

/**
 * How the calls of one action ended since the start.
 *
 * @public
 */
export interface ActionStatistics {
  readonly tool: string;
  readonly action: string;
  /** Executions, however they ended. */
  readonly calls: number;
  /** The part of them that failed, or whose end is unknown. */
  readonly errors: number;
  readonly unknown: number;
  /** Arrivals that policy, a person or a limit refused. */
  readonly refused: number;
  /** Milliseconds of execution, without waiting for people, rounded to a tenth, over the last one to two hours. */
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  /** Wall clock, milliseconds. */
  readonly lastCallAt?: number;
  readonly lastErrorAt?: number;
  /** The refusal's code. */
  readonly lastErrorCode?: string;
}

/**
 * The counts of one minute.
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
  /** Arrivals that only got a preview. */
  readonly previewed: number;
  /** Calls for which a person was asked. */
  readonly asked: number;
}

type EndedEvent = Extract<CallEvent, { readonly moment: "ended" }>;
type CountName = Exclude<keyof Minute, "at">;
type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** What an ending counts as. The endings that are missing belong to a call that has not ended, or that is counted already. */
const countNames: { readonly [Name in EndedEvent["as"]]?: CountName } = {
  succeeded: "ok",
  failed: "failed",
  unknown: "unknown",
  refused: "refused",
  blocked: "refused",
  antiflap_blocked: "refused",
  storm_blocked: "refused",
  previewed: "previewed",
};

const minuteMs = 60_000;
const hourMs = 3_600_000;
const minutesKept = 60;
/** Further actions, over all tenants, and further tenants are not counted. */
const mostActions = 10_000;
const mostTenants = 1_000;
/** Eight steps to a doubling, so a percentile is accurate to a tenth; from an eighth of a millisecond to days. */
const steps = 8;
const buckets = 256;
const none = new Uint32Array(buckets);

/**
 * Counts how calls end, for each tenant separately. It keeps a few numbers for each action, and nothing over a restart.
 *
 * @public
 */
export class ToolStatistics {
  readonly #tenants = new Map<string, TenantCounts>();
  #counters = 0;
  #startedAt: number | undefined;
  #latestAt = -Infinity;

  /** Wall clock of the first counted event. */
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
    const as = event.code === "approval_timed_out" ? undefined : countNames[event.as]; // its request is still open
    if (as === undefined) return;
    const counts = this.#countsAt(event.at, event.call);
    if (counts === undefined) return;
    counts.minute(event.at)[as] += 1;
    if (event.weighing !== undefined) this.#counter(counts, event)?.add(event, as); // its tool exists
  };

  /** The actions of one tenant, by default `default`. */
  actions(tenant = "default"): readonly ActionStatistics[] {
    return [...(this.#tenants.get(tenant)?.actions.values() ?? [])].map((counter) => counter.view());
  }

  /** The minutes of one tenant, by default `default`, oldest first. Minutes without calls are left out. */
  minutes(tenant = "default"): readonly Minute[] {
    const since = this.#latestAt - minutesKept * minuteMs; // the last hour of all tenants, so also for a tenant without calls
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
    const key = `${tool}\0${action}`;
    const known = actions.get(key);
    if (known !== undefined || this.#counters >= mostActions) return known;
    const counter = new Counter(tool, action);
    this.#counters += 1;
    actions.set(key, counter);
    return counter;
  }
}

class TenantCounts {
  readonly actions: Map<string, Counter> = new Map();
  readonly minutes: Writable<Minute>[] = [];

  minute(now: number): Writable<Minute> {
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
  readonly #counts: Writable<ActionStatistics>;
  #now = new Uint32Array(buckets);
  #before = none;
  #hour = 0;

  constructor(tool: string, action: string) {
    this.#counts = { tool, action, calls: 0, errors: 0, unknown: 0, refused: 0 };
  }

  add(event: EndedEvent, as: CountName): void {
    const counts = this.#counts;
    counts.lastCallAt = event.at;
    if (as === "refused") counts.refused += 1;
    if (as === "refused" || as === "previewed") return;
    counts.calls += 1;
    this.#rotate(event.at);
    const bucket = bucketOf(event.latencyMs);
    this.#now[bucket] = (this.#now[bucket] ?? 0) + 1;
    if (as === "ok") return;
    counts.errors += 1;
    if (as === "unknown") counts.unknown += 1;
    counts.lastErrorAt = event.at;
    const code = event.code ?? event.outcome.refusal?.code;
    if (code !== undefined) counts.lastErrorCode = code;
  }

  view(): ActionStatistics {
    const counts = this.#now.map((count, i) => count + (this.#before[i] ?? 0));
    return defined({ ...this.#counts, p50Ms: percentile(counts, 0.5), p95Ms: percentile(counts, 0.95) });
  }

  /** Percentiles cover this hour and the one before. */
  #rotate(now: number): void {
    const hour = Math.floor(now / hourMs);
    if (hour <= this.#hour) return;
    this.#before = hour === this.#hour + 1 ? this.#now : none;
    this.#now = new Uint32Array(buckets);
    this.#hour = hour;
  }
}

function bucketOf(ms: number): number {
  return Math.min(buckets - 1, Math.round(steps * Math.log2(8 * Math.max(ms, 0) + 1)));
}

function percentile(counts: Uint32Array, part: number): number | undefined {
  let left = Math.ceil(counts.reduce((sum, count) => sum + count, 0) * part);
  if (left === 0) return undefined;
  const bucket = counts.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  return Math.round(((2 ** (bucket / steps) - 1) / 8) * 100) / 100;
}
