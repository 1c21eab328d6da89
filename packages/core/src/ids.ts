/** Only what browsers have too: the console and other clients import this file. */

/** The same for all ids of this process, so ids of one millisecond differ only in their count. */
const [process24 = 0] = crypto.getRandomValues(new Uint32Array(1)).map((number) => number >>> 8);
let lastMs = 0;
let prefix = "";
let count = 0;

/**
 * `call_` + UUIDv7. The ids of a process grow, also within a millisecond and if the clock goes back: lists are ordered by
 * them. Its last 48 bits are a count. Ids are names, never an authority.
 *
 * @param now wall clock, milliseconds
 */
export function newCallId(now: number): string {
  if (now > lastMs || prefix === "") {
    lastMs = now;
    const ms = hex(now, 12);
    const [high, low] = [hex(process24 >> 12, 3), hex(process24 & 0xfff, 3)];
    prefix = `call_${ms.slice(0, 8)}-${ms.slice(8)}-7${high}-8${low}-`;
  }
  count += 1;
  return prefix + hex(count, 12);
}

/** No id of an arrival at this time or later is less. */
export function leastCallIdAt(atMs: number): string {
  const ms = hex(Math.max(0, Math.ceil(atMs)), 12);
  return `call_${ms.slice(0, 8)}-${ms.slice(8)}`;
}

/** When the arrival with this id came: wall clock, milliseconds. Undefined if it is not such an id. */
export function arrivedAtOf(id: string): number | undefined {
  const [, high, low] = /^call_([0-9a-f]{8})-([0-9a-f]{4})-7/.exec(id) ?? [];
  return high === undefined || low === undefined ? undefined : Number.parseInt(high + low, 16);
}

/** Sortable by time and unguessable: `apr_…`, `run_…`. */
export function newId(prefix: string): string {
  const digits = newTraceId();
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)];
  return `${prefix}_${parts.join("-")}`;
}

/** 32 hex digits, as OpenTelemetry requires: the digits of a UUIDv7. */
export function newTraceId(): string {
  const high = random32();
  const variant = 0x8000 | (high >>> 18);
  return `${hex(Date.now(), 12)}7${hex(high & 0xfff, 3)}${hex(variant, 4)}${hex(random32(), 8)}${hex(random32() >>> 16, 4)}`;
}

/** One request for many numbers takes as long as a request for one. */
const numbers = new Uint32Array(384);
let used: number = numbers.length;

function random32(): number {
  if (used === numbers.length) {
    crypto.getRandomValues(numbers);
    used = 0;
  }
  return numbers[used++] ?? 0;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}

/** Ids of this form are reserved, so that a caller cannot take the next run of another principal. */
export function isRunOfTheDay(runId: string): boolean {
  return /^run_\d{8}_[0-9a-f]{12}$/.test(runId);
}
