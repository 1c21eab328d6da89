import type { FaultCode } from "./fault-codes.ts";

/**
 * For bugs, broken configuration and requests that name no call. The end of a call is never a fault but a value
 * (refusals.ts). HTTP answers with the status of the code (fault-codes.ts); 500 becomes `internal` and a trace id.
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
    return Object.prototype.toString.call(error); // a cycle or a throwing getter: only its kind can be shown
  }
}
