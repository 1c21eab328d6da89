import type { LookupAddress } from "node:dns";
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import type { Target } from "../../core/system/address-guard.ts";
import type { Delivered } from "./channel.ts";

/** What one kind of receiver wants: the body, and headers that prove who sends it. */
export interface Posted {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const timeoutMs = 15_000;
/** Of the answer; the rest is not waited for. */
const mostAnswerBytes = 4_096;
const longestRetryAfterMs = 3_600_000;

/**
 * One POST to exactly the address that was checked. Redirects are not followed, because their target was not checked.
 * 2xx is taken, 410 means never again, everything else is tried again.
 */
export async function post(
  { url, address }: Extract<Target, { readonly allowed: true }>,
  { body, headers }: Posted,
  signal: AbortSignal,
): Promise<Delivered> {
  const bytes = Buffer.from(body);
  const options = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": bytes.length,
      "user-agent": "postern",
      ...headers,
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    agent: false, // each request checks its address again
    lookup: pinned(address),
  } as const;
  try {
    const response = await sent((url.protocol === "https:" ? tlsRequest : plainRequest)(url, options), bytes);
    return deliveredBy(response);
  } catch (error) {
    return { delivered: false, problem: `It could not be sent: ${reasonOf(error)}.` };
  }
}

function pinned({ address, family }: LookupAddress): LookupFunction {
  return (_host, { all }, callback) => {
    if (all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

function sent(request: ClientRequest, bytes: Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("response", (response) => {
      let read = 0;
      response.on("data", (chunk: Uint8Array) => {
        read += chunk.length;
        if (read > mostAnswerBytes) response.destroy();
      });
      response.on("error", () => {}); // what it says after its status is of no interest
      response.once("close", () => resolve(response));
    });
    request.end(bytes);
  });
}

function deliveredBy({ statusCode = 0, headers }: IncomingMessage): Delivered {
  if (statusCode >= 200 && statusCode < 300) return { delivered: true };
  const problem =
    statusCode >= 300 && statusCode < 400
      ? `It answered ${statusCode}: a redirect, which is not followed.`
      : `It answered ${statusCode}.`;
  const retryAfterMs = waitIn(headers["retry-after"]);
  return {
    ...{ delivered: false, problem, final: statusCode === 410 },
    ...(statusCode === 410 && { gone: true }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Seconds only; a date depends on whose clock is right. */
function waitIn(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header)
    ? Math.min(Number(header) * 1000, longestRetryAfterMs)
    : undefined;
}

/** The kind of failure, never the address: that may hold what is secret. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
