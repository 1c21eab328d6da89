import type { FaultCode } from "./fault-codes.ts";

/**
 * For bugs, broken configuration and requests that name no call, never for what a call can end in: that is a value
 * (refusals.ts). HTTP answers it with the status of its code (fault-codes.ts); 500 becomes `internal` and a trace id.
 */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
  readonly code: string;

  constructor(code: FaultCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** A message for any thrown thing, `null` and cyclic objects included. Never throws. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  if (typeof error === "string") return error;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return Object.prototype.toString.call(error); // a cycle or a throwing getter: its kind is all that can be said
  }
}
