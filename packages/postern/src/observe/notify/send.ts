import type { Target } from "@postern/core/system";
import { request } from "undici";
import { checkedAgent } from "../../system/checked-agent.ts";
import type { Delivered } from "./channel.ts";

/** What one kind of receiver wants: the body, and headers that prove who sends it. */
export interface Posted {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const timeoutMs = 15_000;
const longestRetryAfterMs = 3_600_000;

/**
 * One POST to exactly the address that was checked. Redirects are not followed, because their target was not checked.
 * 2xx is taken, 410 means never again, everything else is tried again.
 */
export async function post(
  target: Extract<Target, { readonly allowed: true }>,
  posted: Posted,
  signal: AbortSignal,
): Promise<Delivered> {
  return (await postAndRead(target, posted, signal, 0)).sent;
}

/** Also returns the start of what the receiver answered. */
export async function postAndRead(
  { url, address }: Extract<Target, { readonly allowed: true }>,
  { body, headers }: Posted,
  signal: AbortSignal,
  mostCharacters: number,
): Promise<{ readonly sent: Delivered; readonly text: string }> {
  const dispatcher = checkedAgent({ address }); // of this request alone: the next one checks its address again
  try {
    const {
      statusCode,
      headers: answered,
      body: rest,
    } = await request(url, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "user-agent": "postern", ...headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      dispatcher,
    });
    rest.on("error", () => {});
    const text = mostCharacters === 0 ? "" : await startOf(rest, mostCharacters);
    rest.destroy(); // what it says after that is of no interest
    return { sent: deliveredBy(statusCode, answered["retry-after"]), text };
  } catch (error) {
    return { sent: { delivered: false, problem: `It could not be sent: ${reasonOf(error)}.` }, text: "" };
  } finally {
    void dispatcher.destroy();
  }
}

async function startOf(body: AsyncIterable<Buffer>, mostCharacters: number): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += chunk.toString("latin1"); // each character is a byte, so none is cut in half
    if (text.length >= mostCharacters) break;
  }
  return Buffer.from(text, "latin1").toString();
}

function deliveredBy(status: number, retryAfter: string | readonly string[] | undefined): Delivered {
  if (status >= 200 && status < 300) return { delivered: true };
  const redirect = status >= 300 && status < 400 ? ": a redirect, which is not followed" : "";
  const isSeconds = typeof retryAfter === "string" && /^\d{1,6}$/.test(retryAfter); // a date depends on whose clock is right
  return {
    ...{ delivered: false, problem: `It answered ${status}${redirect}.`, final: status === 410 },
    ...(status === 410 && { gone: true }),
    ...(isSeconds && { retryAfterMs: Math.min(Number(retryAfter) * 1000, longestRetryAfterMs) }),
  };
}

/** The kind of failure, never the address: that may hold what is secret. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.name === "TimeoutError") return `no answer within ${timeoutMs / 1000} s`;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
