import { type Resolve, systemResolve, targetOf } from "@postern/core/system";
import { type Agent, fetch as undiciFetch } from "undici";
import { checkedAgent } from "./checked-agent.ts";

/** Metadata and token answers are a few kB. */
const mostBytes = 1024 * 1024;
const patienceMs = 20_000;

export interface CheckedFetchOptions {
  /** Allows machines of this network, also over http. */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
}

/**
 * `fetch` for OAuth: the address is checked, exactly that address is connected to, redirects are left to the caller, and the
 * answer is whole and bounded. A server states where its authorization server is, so any address may arrive here.
 */
export function checkedFetch({ allowPrivate, resolve = systemResolve }: CheckedFetchOptions): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const target = await targetOf(url.href, allowPrivate, resolve);
    if (!target.allowed) throw new Error(`nothing was sent to \`${url.host}\`. ${target.problem}`);
    const agent = checkedAgent(target);
    try {
      return await wholeAnswer(url, init, agent);
    } finally {
      void agent.close().catch(ignored);
    }
  };
}

async function wholeAnswer(url: URL, init: RequestInit | undefined, dispatcher: Agent): Promise<Response> {
  const send = undiciFetch as unknown as (url: URL, init: object) => Promise<Response>; // the same standard, with types of its own
  const signal = AbortSignal.timeout(patienceMs);
  const response = await send(url, { ...init, ...formOf(init), redirect: "manual", signal, dispatcher });
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > mostBytes) throw new Error(`the answer of \`${url.host}\` has more than ${mostBytes} bytes`);
    parts.push(part);
  }
  const { status, statusText, headers } = response;
  const hasBody = bytes > 0 && status !== 204 && status !== 304;
  return new Response(hasBody ? Buffer.concat(parts) : null, { status, statusText, headers });
}

/** Headers and form bodies of the platform's own classes are not those of the library. */
function formOf(init: RequestInit | undefined): { readonly headers: object; readonly body: RequestInit["body"] } {
  const { headers, body = null } = init ?? {};
  const plain = Object.fromEntries(new Headers(headers));
  if (!(body instanceof URLSearchParams)) return { headers: plain, body };
  return { headers: { "content-type": "application/x-www-form-urlencoded", ...plain }, body: body.toString() };
}

/** Whether the operator's own words name a machine of this network. What a name means is looked up, so it does not count. */
export async function isOwnMachine({ hostname }: URL): Promise<boolean> {
  if (/(?:^|\.)localhost$/i.test(hostname)) return true;
  if (!/^[\d.]+$|^\[/.test(hostname)) return false;
  return !(await targetOf(`https://${hostname}/`, false)).allowed;
}

function ignored(): void {}
