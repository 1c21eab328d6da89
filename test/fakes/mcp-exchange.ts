import type { HttpExchange } from "../../packages/postern/src/mcp/protocol/http-exchange.ts";
import type { McpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import type { McpCaller } from "../../packages/postern/src/mcp/server/request-source.ts";

/** One standard request to an MCP gateway, without a socket. */
export async function handled(
  gateway: McpGateway,
  request: Request,
  caller: McpCaller,
  path: { readonly server?: string } = {},
): Promise<Response> {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const exchange = new ResponseExchange(request, Buffer.from(await request.arrayBuffer()), resolve);
  gateway.handle(exchange, caller, path);
  return promise;
}

class ResponseExchange implements HttpExchange {
  readonly method: string;
  readonly body: Uint8Array;
  readonly #request: Request;
  readonly #onResponse: (response: Response) => void;
  readonly #gone: (() => void)[] = [];
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(request: Request, body: Uint8Array, onResponse: (response: Response) => void) {
    this.method = request.method;
    this.body = body;
    this.#request = request;
    this.#onResponse = onResponse;
    request.signal.addEventListener("abort", () => this.#leave());
  }

  readonly header = (name: string): string | undefined => this.#request.headers.get(name) ?? undefined;

  onGone(then: () => void): void {
    this.#gone.push(then);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body?: string): void {
    this.#onResponse(new Response(body === undefined || body === "" ? null : body, { status, headers }));
  }

  begin(headers: Readonly<Record<string, string>>): void {
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        this.#stream = stream;
      },
      cancel: () => this.#leave(),
    });
    this.#onResponse(new Response(body, { headers }));
  }

  write(text: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#stream?.close();
    this.#stream = undefined;
  }

  #leave(): void {
    this.#stream = undefined;
    for (const then of this.#gone.splice(0)) then();
  }
}
