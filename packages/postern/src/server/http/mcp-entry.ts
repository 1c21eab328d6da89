import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpExchange } from "../../mcp/protocol/http-exchange.ts";
import type { Who } from "../credentials.ts";
import { problem, securityHeaders } from "./answers.ts";
import { endedMeanwhile } from "./caller.ts";
import type { RequestHead } from "./page-guard.ts";
import { tooLarge } from "./request-body.ts";
import { refusePermission } from "./route.ts";

/** The MCP server: it gets requests whose caller is known and whose body is bounded. */
export type McpHandler = (exchange: HttpExchange, by: Who, path: McpPath) => void;

/** A request to the MCP server, as Node gives it. */
export interface McpArrival {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly path: McpPath;
}

/** Which endpoint an address means. */
export interface McpPath {
  /** The server whose tools it offers. Undefined means all of them. */
  readonly server?: string;
  /** The value of `?mode=`. */
  readonly mode?: string;
}

/** The endpoint of a request to `/mcp` or `/mcp/<server>`. Returns undefined for any other path. */
export function mcpPath(url: string): McpPath | undefined {
  const found = /^\/mcp(?:\/([^/?#]*))?\/?(?:\?([^#]*))?(?:#|$)/.exec(url);
  if (found === null) return undefined;
  const [, name = "", query = ""] = found;
  const mode = query === "" ? null : new URLSearchParams(query).get("mode");
  return { ...(name !== "" && { server: decoded(name) }), ...(mode !== null && { mode }) };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // no server has such a name
  }
}

export function headOf({ method = "", url = "/", headers }: IncomingMessage): RequestHead {
  const get = (name: string): string | null => {
    const value = headers[name];
    return value === undefined ? null : String(value);
  };
  return { method, url: url.startsWith("/") ? `http://${get("host") ?? ""}${url}` : url, headers: { get } };
}

/** Reads the body and passes the request on, unless its caller may not make calls. */
export async function passToMcp(
  mcp: McpHandler | undefined,
  { incoming, outgoing, path }: McpArrival,
  { by, maxBodyBytes }: { readonly by: Who; readonly maxBodyBytes: number },
): Promise<void> {
  const refuse = (refused: Response): Promise<void> => send(outgoing, refused);
  if (!by.permissions.has("calls:make") || by.credential === "session")
    return refuse(refusePermission("calls:make", by));
  if (mcp === undefined) return refuse(problem("mcp_not_served", "This server does not speak MCP."));
  const exchange = new NodeExchange(incoming, outgoing);
  if (incoming.method !== "POST") {
    const leave = by.whenEnded?.(() => exchange.end());
    if (leave !== undefined) exchange.onGone(leave);
  } else {
    const ended = endedMeanwhile(by);
    const bytes = await bodyOf(incoming, maxBodyBytes);
    const gone = ended();
    if (gone !== undefined) return refuse(gone);
    if (bytes === undefined) return refuse(tooLarge(maxBodyBytes));
    exchange.body = bytes;
  }
  mcp(exchange, by, path);
}

/** Returns undefined for a body of more bytes. What is beyond the limit is not kept. */
async function bodyOf(incoming: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const chunks: Buffer[] = [];
  let length = 0;
  incoming.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
    else resolve(undefined); // read on, so that a client that still sends hears the answer
  });
  incoming.once("end", () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
  incoming.once("error", reject);
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) resolve(undefined);
  return promise;
}

/** Writes a response that was made for a standard request. */
export async function send(outgoing: ServerResponse, response: Response): Promise<void> {
  const body = await response.text();
  const headers = { ...Object.fromEntries(response.headers), ...securityHeaders };
  if (!outgoing.headersSent) outgoing.writeHead(response.status, headers);
  outgoing.end(body);
}

const noBytes = new Uint8Array();

/** Node's own request and response. */
class NodeExchange implements HttpExchange {
  readonly method: string;
  body: Uint8Array = noBytes;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.method = incoming.method ?? "";
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  readonly header = (name: string): string | undefined => {
    const value = this.#incoming.headers[name];
    return value === undefined ? undefined : String(value);
  };

  onGone(then: () => void): void {
    this.#outgoing.once("close", () => {
      if (!this.#outgoing.writableFinished) then();
    });
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body = ""): void {
    if (this.#outgoing.headersSent || this.#outgoing.destroyed) return;
    const length = Buffer.byteLength(body);
    this.#outgoing.writeHead(status, { ...securityHeaders, ...headers, "content-length": length }).end(body);
  }

  begin(headers: Readonly<Record<string, string>>): void {
    if (this.#outgoing.headersSent || this.#outgoing.destroyed) return;
    this.#outgoing.writeHead(200, { ...securityHeaders, ...headers });
    this.#outgoing.flushHeaders();
  }

  write(text: string): void {
    if (this.#outgoing.writable) this.#outgoing.write(text);
  }

  end(): void {
    this.#outgoing.end();
  }
}
