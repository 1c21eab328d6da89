import crypto, { randomInt } from "node:crypto";

/**
 * Makes call ids: `call_` + UUIDv7 whose last 48 bits are the call's row number, so that a call is found by its id
 * without an index over random keys (which costs more than the rest of the path). Ids are names, never an authority.
 */
export class CallIds {
  readonly #boot: number = randomInt(1 << 24);
  #ms = -1;
  #prefix = "";

  make(now: number, number: number): string {
    if (now !== this.#ms) {
      this.#ms = now;
      const high = hex(Math.floor(now / 0x10000), 8);
      const flat = `call_${high}-${hex(now % 0x10000, 4)}-7${hex(this.#boot >> 12, 3)}-8${hex(this.#boot & 0xfff, 3)}-`;
      this.#prefix = Buffer.from(flat).toString(); // a string built by concatenation is a rope; this one is reused
    }
    return [this.#prefix, hex(number, 12)].join(""); // flat: an id is read more often than it is made
  }
}

/** The row number inside a call's id; undefined when it is not one. */
export function numberOf(id: string): number | undefined {
  if (id.length !== 41 || !id.startsWith("call_")) return undefined;
  const number = Number.parseInt(id.slice(29), 16);
  return Number.isSafeInteger(number) ? number : undefined;
}

/**
 * Sortable by time, and not to be guessed: `apr_…`, `run_…`. Not imported by its name, which an old Node does not know:
 * it is to get as far as our own refusal (system/node-version.ts).
 */
export function newId(prefix: string): string {
  return `${prefix}_${crypto.randomUUIDv7()}`;
}

/** 32 hex digits, as OpenTelemetry wants them. */
export function newTraceId(): string {
  return crypto.randomUUIDv7().replaceAll("-", "");
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}
