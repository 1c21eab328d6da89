import { createServer, type IncomingHttpHeaders } from "node:http";

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** The next answers, in order; then 200. */
  readonly answers: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }[];
  /** Resolves when this many requests have arrived. */
  count(wanted: number): Promise<void>;
}

/** A real local HTTP server that records the requests posted to it. */
export async function receiver(): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const answers: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }[] = [];
  const waiting: { readonly wanted: number; readonly resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      requests.push({ path: request.url ?? "", headers: request.headers, body });
      const { status, headers = {} } = answers.shift() ?? { status: 200 };
      response.writeHead(status, headers).end("ok");
      for (const one of waiting) if (requests.length >= one.wanted) one.resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answers,
    count: (wanted) =>
      requests.length >= wanted ? Promise.resolve() : new Promise((resolve) => void waiting.push({ wanted, resolve })),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
