import { defined, type Json, messageOf, shortened } from "@postern/core";
import { rpcDetailsOf } from "./rpc-error.ts";
import { SignInNeeded } from "./sign-in-needed.ts";

/** How a tool failed. */
export interface Failure {
  /** Its class and message, at most 2,000 characters. */
  readonly message: string;
  /** The same call may be tried again. The failure is not stored. */
  readonly retryable: boolean;
  /** It may have happened. */
  readonly unknown: boolean;
  /** The tool certainly did not run. Nothing happened, and an approval is not used. */
  readonly notExecuted: boolean;
  /** A person has to connect first. It is no fault of the tool. */
  readonly needsSignIn?: true;
  /** Wall clock, milliseconds: until then the other side takes no calls. */
  readonly rateLimitResetsAt?: number;
  /** The code and the data of a server's JSON-RPC error. */
  readonly details?: Json;
}

const maxMessageLength = 2_000;

/** The connection broke after it was open, so the request may have arrived. (ECONNREFUSED, for example, sent nothing.) */
const droppedCodes: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNABORTED",
  "UND_ERR_SOCKET",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_HTTP2_STREAM_ERROR",
]);

/** Accepts any thrown value. Never throws, also not for `null`, cycles and throwing getters. */
export function failureOf(error: unknown): Failure {
  const resetsAt = read(error, "rateLimitResetsAt");
  const needed = error instanceof SignInNeeded ? error : undefined;
  const details = needed?.details ?? rpcDetailsOf(error);
  const limited = typeof resetsAt === "number" && Number.isFinite(resetsAt);
  return {
    message: shortened(describe(error), maxMessageLength),
    retryable: limited || read(error, "retryable") === true,
    notExecuted: read(error, "notExecuted") === true,
    ...(needed !== undefined && { needsSignIn: true }),
    unknown:
      read(error, "unknown") === true ||
      droppedCodes.has(read(error, "code")) ||
      droppedCodes.has(read(read(error, "cause"), "code")),
    ...(limited && { rateLimitResetsAt: resetsAt }),
    ...defined({ details }),
  };
}

function describe(error: unknown): string {
  const message = read(error, "message");
  const kind = read(error, "name");
  try {
    const text = typeof message === "string" && message !== "" ? message : undefined;
    if (typeof kind === "string" && kind !== "" && typeof error === "object")
      return text === undefined ? kind : `${kind}: ${text}`;
    return text ?? `The tool threw ${error === null ? "null" : `a ${typeof error}`}: ${messageOf(error)}`;
  } catch {
    return "The tool threw something that cannot be described."; // its own code runs in `messageOf` (toJSON, getters)
  }
}

function read(from: unknown, name: string): unknown {
  if (typeof from !== "object" || from === null) return undefined;
  try {
    return Reflect.get(from, name);
  } catch {
    return undefined; // a getter that throws gives no value
  }
}
