import crypto, { randomInt } from "node:crypto";

/** The same for all ids of this process, so ids of one millisecond differ only in their count. */
const process24 = randomInt(1 << 24);
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

/**
 * Sortable by time and unguessable: `apr_…`, `run_…`. `crypto.randomUUIDv7` is not imported by name: an old Node lacks
 * it, and must get as far as our own refusal (core/system/node-version.ts).
 */
export function newId(prefix: string): string {
  return `${prefix}_${crypto.randomUUIDv7()}`;
}

/** 32 hex digits, as OpenTelemetry requires. */
export function newTraceId(): string {
  return crypto.randomUUIDv7().replaceAll("-", "");
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}
