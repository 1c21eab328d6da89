/**
 * For bugs and broken configuration, never for what a call can end in: that is a value (refusals.ts).
 * Doors turn it into `internal` and a trace id.
 */
export class RuntimeFault extends Error {
  override readonly name = "RuntimeFault";
  readonly code: string;

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
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
