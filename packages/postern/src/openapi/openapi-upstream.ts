/**
 * The port of upstream servers for an OpenAPI document: its operations are the tools, and a call is one HTTP request.
 *
 * Invariant: a request goes only to the document's server or to the configured one, and a credential only to an origin that
 * the operator wrote, or that the operator's own file names.
 * Next: read-document.ts and operations.ts (document to tools), request-plan.ts (arguments to a request), api-client.ts.
 */
import { type JsonObject, messageOf, RuntimeFault } from "@postern/core";
import type { Resolve } from "@postern/core/system";
import { retryAfterOf } from "../mcp/client/http-fetch.ts";
import { reasonOf, wasReached } from "../mcp/client/sdk-faults.ts";
import type { OpenApiAddress } from "../mcp/client/server-address.ts";
import type { OpenApiOptions } from "../mcp/client/servers.ts";
import {
  lostCall,
  notSentError,
  rateLimitedError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamList,
} from "../mcp/client/upstream.ts";
import { LostAnswer, mostAnswerBytes, tooManyBytes } from "../results/raw-result.ts";
import { answerOf } from "./answer.ts";
import { type ApiAnswer, ApiClient } from "./api-client.ts";
import type { OpenApi, Operation } from "./operations.ts";
import { documentText, readApi } from "./read-document.ts";
import { type ApiRequest, type Credential, requestOf } from "./request-plan.ts";

/** A document behind an address is read again at most this often. */
const rereadEveryMs = 300_000;

export interface OpenApiUpstreamOptions extends OpenApiOptions {
  readonly resolve?: Resolve;
}

/** What was read of the document. */
interface Reading {
  readonly text: string;
  readonly api: OpenApi;
  readonly base: URL;
}

export class OpenApiUpstream implements Upstream {
  readonly processId: undefined;
  readonly #address: OpenApiAddress;
  readonly #options: OpenApiUpstreamOptions;
  readonly #client: ApiClient;
  readonly #closing = new AbortController();
  #reading: Reading | undefined;
  /** Read since, and not listed yet. */
  #next: Reading | undefined;
  #operations: ReadonlyMap<string, Operation> = new Map();
  #readAt = 0;

  constructor(address: OpenApiAddress, options: OpenApiUpstreamOptions) {
    this.#address = address;
    this.#options = options;
    this.#client = new ApiClient({ allowPrivate: address.allowPrivate, resolve: options.resolve });
  }

  async connect(): Promise<{ readonly name: string; readonly version: string; readonly revision: string }> {
    this.#next = await this.#read();
    const { title, version, revision } = this.#next?.api ?? ({} as Partial<OpenApi>);
    return { name: title ?? "", version: version ?? "", revision: revision ?? "" };
  }

  async listTools(): Promise<UpstreamList> {
    this.#reading = this.#next ?? this.#reading;
    this.#next = undefined;
    if (this.#reading === undefined) throw new Error("The OpenAPI document is not read yet.");
    const { api, base } = this.#reading;
    this.#operations = new Map(api.operations.map((one) => [one.tool.name, one]));
    const address = base.href.replace(/[?#].*$/, "").replace(/\/+$/, "");
    // The address is a part of the definition that is pinned.
    const tools = api.operations.map(({ tool, plan }) => ({
      ...tool,
      description: [tool.description, `${plan.method} ${address}${plan.path}`].filter(Boolean).join("\n\n"),
    }));
    return { tools, malformed: api.malformed };
  }

  async callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    const { clock, answerBytes = mostAnswerBytes } = this.#options;
    const operation = this.#operations.get(name);
    if (operation === undefined || this.#reading === undefined)
      throw notSentError(`Tool \`${name}\`: the document has no such operation.`);
    const { plan } = operation;
    const request = requestOf(plan, given, {
      ...{ base: this.#reading.base, headers: this.#address.headers, idempotencyKey: call.idempotencyKey },
      credentials: credentialsFor(plan.security, this.#reading.api.schemes, this.#address.auth),
    });
    const answer = await this.#send(name, request, call.signal, answerBytes);
    const { status, body } = answer;
    const resetsAt = retryAfterOf(answer, clock);
    if (status === 429 || (status === 503 && resetsAt !== undefined))
      throw rateLimitedError(`Tool \`${name}\`: the API takes no calls now (HTTP ${status}).`, resetsAt);
    if (ofProxies.has(status) && !isReading(request))
      throw lostCall(
        `Tool \`${name}\`: a proxy answered HTTP ${status}, which does not tell whether the API was reached`,
      );
    if (body === undefined) return new LostAnswer(`it has ${tooManyBytes(answerBytes)}`);
    return answerOf(answer, body, request.method);
  }

  async readResource(): Promise<readonly JsonObject[]> {
    throw new Error("An OpenAPI document has no resources.");
  }

  /** The document may have changed. If it cannot be read now, its operations stay as they are. */
  async ping(): Promise<void> {
    const { clock, events } = this.#options;
    const isRemote = this.#address.document instanceof URL;
    if (isRemote && clock.monotonic() - this.#readAt < rereadEveryMs) return;
    const known = (this.#next ?? this.#reading)?.text;
    const found = await this.#read(known).catch(() => undefined);
    if (found === undefined || this.#closing.signal.aborted) return;
    this.#next = found;
    events.onToolsChanged();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("The connection is closed."));
    await this.#client.close();
  }

  /** @param known returns undefined if the text is this one */
  async #read(known?: string): Promise<Reading | undefined> {
    const { clock, startTimeoutMs, name } = this.#options;
    const { document, baseUrl, operations: filter, auth } = this.#address;
    const late = new AbortController();
    const cancelWait = clock.in(startTimeoutMs, () =>
      late.abort(
        new Error(
          `Its OpenAPI document was not read within ${startTimeoutMs} ms (\`servers.${name}.start_timeout_ms\`).`,
        ),
      ),
    );
    this.#readAt = clock.monotonic();
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      const text = await documentText(document, this.#client, signal);
      if (text === known) return undefined;
      const api = await readApi(text, { filter, baseUrl: baseUrl?.href }, signal);
      checkAuth(name, auth, api.schemes);
      return { text, api, base: baseOf(name, this.#address, api.server) };
    } catch (error) {
      throw new RuntimeFault("options_invalid", late.signal.aborted ? messageOf(late.signal.reason) : reasonOf(error), {
        cause: error,
      });
    } finally {
      cancelWait();
    }
  }

  async #send(name: string, request: ApiRequest, signal: AbortSignal, limitBytes: number): Promise<ApiAnswer> {
    let isSent = false;
    const onSending = (): void => {
      isSent = true;
    };
    try {
      const either = AbortSignal.any([signal, this.#closing.signal]);
      return await this.#client.send(request, { signal: either, limitBytes, onSending });
    } catch (error) {
      throw faultOf(name, error, { isSent, isReading: isReading(request) });
    }
  }
}

/** A proxy in front of an API answers with these. */
const ofProxies: ReadonlySet<number> = new Set([502, 503, 504]);

/** By the protocol such a request has no effect, so a lost answer leaves nothing unknown. */
function isReading({ method }: ApiRequest): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

interface SendFacts {
  readonly isSent: boolean;
  readonly isReading: boolean;
}

function faultOf(name: string, error: unknown, facts: SendFacts): Error {
  if (error instanceof Error && "notExecuted" in error)
    return Object.assign(error, { message: `Tool \`${name}\`: ${error.message}` });
  if (!facts.isSent || !wasReached(error) || reasonOf(error).includes("bad port"))
    // `fetch` refuses ports of other protocols
    return notSentError(`Tool \`${name}\`: the API could not be reached: ${reasonOf(error)}.`, error);
  const message = `Tool \`${name}\`: the connection to the API was lost after the request was sent: ${reasonOf(error)}`;
  // Without its cause: a code such as ECONNRESET in it would make the outcome unknown.
  return facts.isReading ? Object.assign(new Error(message), { retryable: true }) : lostCall(message, error);
}

/**
 * The first alternative of which every scheme has a value. An operation that states no security gets every value; one whose
 * alternatives all lack a value is sent without, and the API's own answer tells what it misses.
 */
function credentialsFor(
  security: Operation["plan"]["security"],
  schemes: OpenApi["schemes"],
  auth: Readonly<Record<string, string>>,
): readonly Credential[] {
  const complete = security?.filter((all) => all.every((one) => Object.hasOwn(auth, one)));
  const names = complete === undefined ? Object.keys(auth) : (complete.find((all) => all.length > 0) ?? []);
  return names.flatMap((one): Credential[] => {
    const scheme = Object.hasOwn(schemes, one) ? schemes[one] : undefined;
    const value = auth[one];
    if (scheme === undefined || scheme === null || value === undefined) return [];
    const { kind, in: place, name } = scheme;
    const written = { key: value, bearer: `Bearer ${value}`, basic: `Basic ${Buffer.from(value).toString("base64")}` };
    return [{ in: place, name, value: written[kind] }];
  });
}

function checkAuth(server: string, auth: Readonly<Record<string, string>>, schemes: OpenApi["schemes"]): void {
  const known = Object.keys(schemes).map((name) => `\`${name}\``);
  for (const name of Object.keys(auth)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined;
    if (scheme === undefined)
      throw new Error(
        `\`servers.${server}.auth.${name}\` is no security scheme of the document, which has ${known.join(", ") || "none"}; correct the name, or use \`headers\`.`,
      );
    if (scheme === null)
      throw new Error(
        `\`servers.${server}.auth.${name}\` is of a type that Postern does not send; it sends bearer, basic, apiKey, oauth2 and openIdConnect. Use \`headers\`.`,
      );
  }
}

/** The configured address, else that of the document. */
function baseOf(name: string, address: OpenApiAddress, server: string | undefined): URL {
  const { document, baseUrl, headers, auth } = address;
  if (baseUrl !== undefined) return baseUrl;
  const origin = document instanceof URL ? document : undefined;
  const url = URL.parse(server ?? "/", origin?.href);
  const fix = `Write \`servers.${name}.base_url\`.`;
  if (url === null || !/^https?:$/.test(url.protocol) || /[{}]|%7B/i.test(url.href))
    throw new Error(
      `The document names no address to send to (${server === undefined ? "no server" : `\`${server.slice(0, 200)}\``}). ${fix}`,
    );
  const hasCredential = Object.keys(headers).length + Object.keys(auth).length > 0;
  if (origin !== undefined && url.origin !== origin.origin && hasCredential)
    throw new Error(
      `The document at \`${origin.origin}\` sends your credentials to \`${url.origin}\`. If that is right, permit it: ${fix}`,
    );
  return url;
}
