/**
 * The only way from a page to the network: a proxy for each browser context.
 * Invariant: a connection is made only to a host of `allowedHosts`, at the address that was checked. Redirects,
 * subresources, websockets and popups use it too, so none of them needs a check of its own. launch.ts closes what would
 * not use it.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hostMatcher, hostOf } from "@postern/core";
import { type Resolve, systemResolve, targetOf } from "@postern/core/system";

export interface EgressOptions {
  readonly allowedHosts: readonly string[];
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
}

/** Chromium's own request, always refused: it would reveal which fields the pages have. */
const ownRequest = /^content-autofill\.googleapis\.com$/;

/** Why a URL may not be opened, with the host. Returns undefined when its text does not forbid it. */
export function urlProblem(text: string, { allowedHosts }: Pick<EgressOptions, "allowedHosts">): string | undefined {
  if (!/^https?:/i.test(text)) return `\`${text.slice(0, 200)}\` is not an http or https URL; give an absolute one`;
  const host = hostOf(text);
  if (host === undefined) return `\`${text.slice(0, 200)}\` has no clear host`;
  const isAllowed = allowedHosts.some((pattern) => pattern === "*" || hostMatcher(pattern)(host));
  return isAllowed
    ? undefined
    : `the host \`${host}\` is not among the allowed hosts (${allowedHosts.join(", ") || "none"})`;
}

export class Egress implements AsyncDisposable {
  readonly #options: EgressOptions;
  readonly #server: Server;
  readonly #open = new Set<Duplex>();
  readonly #refused = new Set<string>();

  private constructor(options: EgressOptions) {
    this.#options = options;
    this.#server = createServer((incoming, answer) => void this.#forward(incoming, answer));
    this.#server.on("connect", (incoming, socket, head) => void this.#tunnel(incoming, socket, head));
    this.#server.on("connection", (socket) => this.#keep(socket));
  }

  static async open(options: EgressOptions): Promise<Egress> {
    const egress = new Egress(options);
    await new Promise<void>((resolve, reject) => {
      egress.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return egress;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  /** The hosts that were refused since the last call. */
  takeRefused(): readonly string[] {
    const refused = [...this.#refused];
    this.#refused.clear();
    return refused;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }

  /** The address to connect to. Returns undefined when it is refused, and records that. */
  async #addressOf(url: string): Promise<{ readonly address: string; readonly host: string } | undefined> {
    const { allowPrivate, resolve = systemResolve } = this.#options;
    const problem = urlProblem(url, this.#options);
    const host = hostOf(url) ?? "";
    if (ownRequest.test(host)) return undefined;
    // The guard wants https where secrets are sent; here only the address matters.
    const target =
      problem === undefined ? await targetOf(url.replace(/^http:/i, "https:"), allowPrivate, resolve) : undefined;
    if (target?.allowed === true) return { address: target.address.address, host };
    if (this.#refused.size < 20) this.#refused.add(problem ?? `\`${host}\` is a private address, or has none`);
    return undefined;
  }

  async #forward(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = URL.parse(incoming.url ?? "");
    const found = url?.protocol === "http:" ? await this.#addressOf(url.href) : undefined;
    if (url === null || found === undefined) {
      incoming.socket.destroy(); // a page must not appear under another's address
      return;
    }
    const { "proxy-connection": _own, ...headers } = incoming.headers;
    const path = `${url.pathname}${url.search}`;
    const outgoing = request(
      {
        host: found.address,
        port: url.port || 80,
        method: incoming.method,
        path,
        headers: { ...headers, host: url.host },
      },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
        response.on("error", () => answer.destroy());
      },
    );
    outgoing.on("socket", (socket) => this.#keep(socket));
    outgoing.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  /** TLS and websockets: the bytes are the page's own. */
  async #tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = URL.parse(`https://${incoming.url ?? ""}`);
    socket.on("error", () => socket.destroy());
    const found = url === null ? undefined : await this.#addressOf(url.href);
    if (url === null || found === undefined) {
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const far: Socket = connect({ host: found.address, port: Number(url.port || 443) }, () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      if (head.length > 0) far.write(head);
      far.pipe(socket);
      socket.pipe(far);
    });
    this.#keep(far);
    far.on("error", () => socket.destroy());
    far.on("close", () => socket.destroy());
    socket.on("close", () => far.destroy());
  }

  #keep(socket: Duplex): void {
    this.#open.add(socket);
    socket.on("close", () => this.#open.delete(socket));
  }
}
