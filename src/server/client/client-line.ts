import { messageOf } from "../../core/fault.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { asked } from "../http/held-request.ts";

interface ClientProblemFields {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly body?: Json;
  readonly cause?: unknown;
}

/** A request the server did not take, or a server that was not there (`status` 0, `code` `unreachable`). A refused call is no problem: it is an outcome. */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly status: number;
  readonly code: string;
  /** The whole answer: beside `error` it may hold the record that was in the way. */
  readonly body: Json;

  constructor({ status, code, message, body = null, cause }: ClientProblemFields) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

interface Asking {
  readonly body: object | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Sends requests and reads answers, whatever their route. */
export class Line {
  readonly #url: string;
  readonly #token: string;
  readonly #carry: (request: Request) => Promise<Response>;

  constructor(url: string, token: string, carry: (request: Request) => Promise<Response>) {
    this.#url = url.replace(/\/$/, "");
    this.#token = token;
    this.#carry = carry;
  }

  /** Returns undefined when the route answers nothing. @throws ClientProblem */
  async ask(method: string, path: string, { body, signal }: Asking): Promise<Json | undefined> {
    const init: RequestInit = {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      ...(signal !== undefined && { signal }),
    };
    const response = await this.#send(path, init);
    const text = await response.text().catch((error: unknown) => this.#cutOff(init, error));
    if (response.status === 204) return undefined;
    const answer = parsed(text);
    const isAnswer = isJsonObject(answer) && !Object.hasOwn(answer, "error");
    // A call that was refused has a status of its own and an outcome as its body.
    if (isAnswer && (response.ok || Object.hasOwn(answer, "call_id"))) return answer;
    throw problemOf(response.status, text);
  }

  async *bytes(path: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const response = await this.#send(path, { method: "GET", ...(signal !== undefined && { signal }) });
    if (!response.ok || response.body === null) throw problemOf(response.status, await response.text());
    yield* response.body;
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const headers = { ...init.headers, authorization: `Bearer ${this.#token}` };
    try {
      return await asked(new Request(`${this.#url}${path}`, { ...init, headers }), this.#carry);
    } catch (error) {
      return this.#cutOff(init, error);
    }
  }

  /** The server was not there, or went away before its answer was whole. */
  #cutOff(init: RequestInit, error: unknown): never {
    if (init.signal?.aborted === true) throw error;
    const isAway = notReached.has(codeOf(error));
    const message = isAway
      ? `No Postern answers at ${this.#url}; start one with \`postern start\`.`
      : `The connection to Postern at ${this.#url} ended before the whole answer came (${reasonOf(error)}). A call that was sent may have run; \`postern calls\` shows what became of it.`;
    throw new ClientProblem({ status: 0, code: isAway ? "unreachable" : "cut_off", message, cause: error });
  }
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
