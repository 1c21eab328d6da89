/** A client of the HTTP server: one method for each route of the contract, with the types of its definition. */

import { defined, isJsonObject, type Json, messageOf } from "@postern/core";
import {
  contract,
  fieldsOf,
  type PosternClient,
  partsOf,
  type RouteDefinition,
  type RouteGroup,
} from "@postern/core/contract";
import { ClientProblem } from "./client-problem.ts";
import { asked } from "./held-request.ts";
import { patientSend, type SentAnswer, type SentRequest } from "./patient-send.ts";

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  readonly url: string;
  readonly token: string;
  /** Carries the requests. Default: HTTP, without a limit of time. A server in this process is asked without a socket. */
  readonly send?: (request: Request) => Promise<Response>;
}

/**
 * A client of the HTTP server, for the command line and for programs in this process's language.
 *
 * Contract: every method throws `ClientProblem` and nothing else, but for an aborted `signal`.
 */
export function createClient({ url, token, send }: ClientOptions): PosternClient {
  const carry = send === undefined ? patientSend : (sent: SentRequest) => asked(new Request(sent.url, sent), send);
  const line = new Line(url, token, carry);
  const methodOf =
    (definition: RouteDefinition) =>
    (sent: Readonly<Record<string, unknown>> = {}, signal?: AbortSignal): unknown =>
      request(line, definition, { sent, signal });
  const groups = Object.entries<RouteGroup>(contract).map(([group, routes]) => [
    group,
    Object.fromEntries(Object.entries(routes).map(([name, definition]) => [name, methodOf(definition)])),
  ]);
  return Object.fromEntries(groups) as PosternClient; // the same names; the types of each method are those of its definition
}

interface MethodCall {
  readonly sent: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

function request(line: Line, { method, path, query, answer }: RouteDefinition, { sent, signal }: MethodCall): unknown {
  const rest = new Map(Object.entries(sent));
  const take = (name: string): unknown => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const parts = new Map(partsOf(path).map((name) => [name, encodeURIComponent(String(take(name)))]));
  const search = new URLSearchParams();
  for (const name of fieldsOf(query)) {
    const value = take(name);
    if (value !== undefined) search.set(name, String(value));
  }
  const target = `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts.get(name) ?? "")}${search.size === 0 ? "" : `?${search}`}`;
  const body = method === "get" || method === "delete" ? undefined : Object.fromEntries(rest);
  if (typeof answer === "string") return line.bytes(method.toUpperCase(), target, { body, signal });
  return line.ask(method.toUpperCase(), target, { body, signal });
}

interface Asking {
  readonly body: object | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Sends requests and reads answers, whatever their route. */
class Line {
  readonly #url: string;
  readonly #token: string;
  readonly #carry: (sent: SentRequest) => Promise<SentAnswer>;

  constructor(url: string, token: string, carry: (sent: SentRequest) => Promise<SentAnswer>) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
    this.#carry = carry;
  }

  /** Returns undefined when the route answers nothing. @throws ClientProblem */
  async ask(method: string, path: string, { body, signal }: Asking): Promise<Json | undefined> {
    const response = await this.#send(path, { method, ...sentAs(body), ...defined({ signal }) });
    const text = await response.text().catch((error: unknown) => this.#cutOff(signal, error));
    if (response.status === 204) return undefined;
    const answer = parsed(text);
    const isAnswer = isJsonObject(answer) && !Object.hasOwn(answer, "error");
    // A call that was refused has a status of its own and an outcome as its body.
    if (isAnswer && (response.ok || Object.hasOwn(answer, "call_id"))) return answer;
    throw problemOf(response.status, text);
  }

  async *bytes(method: string, path: string, { body, signal }: Asking): AsyncGenerator<Uint8Array> {
    const response = await this.#send(path, { method, ...sentAs(body), ...defined({ signal }) });
    if (!response.ok || response.body === null) throw problemOf(response.status, await response.text());
    yield* response.body;
  }

  async #send(
    path: string,
    { headers, ...sent }: Partial<SentRequest> & { readonly method: string },
  ): Promise<SentAnswer> {
    const authorization = `Bearer ${this.#token}`;
    try {
      return await this.#carry({ ...sent, url: `${this.#url}${path}`, headers: { ...headers, authorization } });
    } catch (error) {
      return this.#cutOff(sent.signal, error);
    }
  }

  /** The server was not there, or went away before its answer was whole. */
  #cutOff(signal: AbortSignal | undefined, error: unknown): never {
    if (signal?.aborted === true) throw error;
    const isAway = notReached.has(codeOf(error));
    if (untrusted.test(codeOf(error))) throw untrustedProblem(this.#url, error);
    const message = isAway
      ? `No Postern answers at ${this.#url}; start one with \`postern start\`.`
      : `The connection to Postern at ${this.#url} ended before the whole answer came (${reasonOf(error)}). A call that was sent may have run; \`postern calls\` shows what became of it.`;
    throw new ClientProblem({ status: 0, code: isAway ? "unreachable" : "cut_off", message, cause: error });
  }
}

/** What Node says of a certificate that it does not accept. Nothing was sent. */
const untrusted = /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_|SELF_SIGNED_|CERT_|ERR_TLS_CERT)/;

function untrustedProblem(url: string, cause: unknown): ClientProblem {
  const message = `The certificate of ${url} is not trusted (${codeOf(cause)}), so nothing was sent. If an authority of your own signed it, set NODE_EXTRA_CA_CERTS to the file of its certificate; else the name or the date is wrong.`;
  return new ClientProblem({ status: 0, code: "untrusted", message, cause });
}

function sentAs(body: object | undefined): Partial<SentRequest> {
  return body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

/** No connection was made. */
const notReached: ReadonlySet<string> = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EACCES"],
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Of the error, or of its cause: `fetch` wraps what went wrong. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return "code" in error && typeof error.code === "string" ? error.code : codeOf(error.cause);
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return code === "" ? messageOf(error) : code;
}

function problemOf(status: number, text: string): ClientProblem {
  const body = parsed(text);
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (error !== undefined && isJsonObject(error))
    return new ClientProblem({ status, code: String(error["code"]), message: String(error["message"]), body });
  const message = `The server answered ${status} with something that is not Postern's.`;
  return new ClientProblem({ status, code: "not_postern", message, body });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse makes nothing but JSON
  } catch {
    return text; // it is shown as what it is: not ours
  }
}
