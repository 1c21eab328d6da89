import { type Resolve, systemResolve, type Target, targetOf } from "@postern/core/system";
import { type Agent, FormData, fetch as undiciFetch } from "undici";
import { notSentError } from "../mcp/client/upstream.ts";
import { checkedAgent } from "../system/checked-agent.ts";
import type { ApiRequest } from "./request-plan.ts";

const mostRedirects = 5;
const mostAgents = 100;

export interface ApiClientOptions {
  /** Allows machines of this network, also over http. */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined: it has more bytes than were asked for. */
  readonly body: Buffer | undefined;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  readonly limitBytes: number;
  /** Called when the first byte may have left. */
  readonly onSending?: () => void;
}

/**
 * Sends requests to addresses that were checked. Every redirect is checked again, and only a request that reads follows one,
 * and only to the same origin, because its headers may hold a credential.
 */
export class ApiClient {
  readonly #options: ApiClientOptions;
  /** By address. They keep connections open. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  async send(request: ApiRequest, { signal, limitBytes, onSending }: SendOptions): Promise<ApiAnswer> {
    let { url } = request;
    for (let redirects = 0; ; redirects += 1) {
      signal.throwIfAborted();
      const target = await targetOf(url.href, this.#options.allowPrivate, this.#options.resolve ?? systemResolve);
      if (!target.allowed) throw notSentError(`nothing was sent to \`${url.host}\`. ${target.problem}`);
      signal.throwIfAborted();
      onSending?.();
      const response = await this.#fetch(url, request, target, signal);
      const next = redirectOf(response, url);
      if (next?.origin !== url.origin || redirects >= mostRedirects || !/^(?:GET|HEAD)$/.test(request.method))
        return { status: response.status, headers: response.headers, body: await bodyIn(response, limitBytes) };
      await response.body?.cancel();
      url = next;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  async #fetch(
    url: URL,
    { method, headers, body }: ApiRequest,
    target: Extract<Target, { readonly allowed: true }>,
    signal: AbortSignal,
  ): Promise<Response> {
    const send = undiciFetch as unknown as (url: URL, init: object) => Promise<Response>; // the same standard, with types of its own
    return send(url, {
      ...{ method, headers, signal, redirect: "manual", dispatcher: this.#agentFor(target) },
      ...(body !== undefined && { body: isForm(body) ? formOf(body) : body }),
    });
  }

  #agentFor(target: Extract<Target, { readonly allowed: true }>): Agent {
    const { address } = target.address;
    const agent = this.#agents.get(address) ?? checkedAgent(target);
    this.#agents.set(address, agent);
    const [oldest] = this.#agents;
    if (this.#agents.size > mostAgents && oldest !== undefined) {
      this.#agents.delete(oldest[0]);
      void oldest[1].close().catch(ignored); // after its requests
    }
    return agent;
  }
}

type Body = NonNullable<ApiRequest["body"]>;

function isForm(body: Body): body is Extract<Body, readonly unknown[]> {
  return Array.isArray(body);
}

function formOf(parts: Extract<Body, readonly unknown[]>): FormData {
  const form = new FormData();
  for (const { name, value } of parts)
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, name);
  return form;
}

function redirectOf({ status, headers }: Response, from: URL): URL | undefined {
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location === null ? undefined : (URL.parse(location, from.href) ?? undefined);
}

async function bodyIn({ body }: Response, limitBytes: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > limitBytes) return undefined; // leaving the loop cancels the body
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function ignored(): void {}
