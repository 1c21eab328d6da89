import type { JsonObject, Principal } from "@postern/core";
import type { AnyTool, LocalTool } from "./kinds.ts";

/** A call needs a person to connect first. Nothing was run. Only Postern's own errors are of this class. */
export class SignInNeeded extends Error {
  readonly notExecuted = true;
  /** The server, and the address that the person opens, for programs. */
  readonly details: JsonObject;

  constructor(message: string, details: JsonObject) {
    super(message);
    this.details = details;
  }
}

/** The sign-in that is missing behind an error: a client wraps what its `fetch` throws. */
export function signInNeededIn(error: unknown): SignInNeeded | undefined {
  let cause = error;
  for (let depth = 0; depth < 6 && cause instanceof Error; depth += 1, cause = cause.cause)
    if (cause instanceof SignInNeeded) return cause;
  return undefined;
}

/** What is missing for a call of this principal. */
export type MissingFor = (principal: Principal) => SignInNeeded | undefined;

/** A symbol, so that a copy under another name needs the same. */
const key = Symbol("missing");

/** For a tool that needs something of each person: a call without it is refused before anyone is asked to approve it. */
export function withMissing(tool: LocalTool, missing: MissingFor): LocalTool {
  return Object.assign(tool, { [key]: missing });
}

/** Returns undefined for a tool that every caller can call. */
export function missingOf(tool: AnyTool | undefined): MissingFor | undefined {
  return (tool as { readonly [key]?: MissingFor } | undefined)?.[key]; // only `withMissing` sets it
}
