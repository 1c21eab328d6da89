import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { problem } from "./answers.ts";
import type { HttpServer } from "./http-server.ts";
import { reachedAt } from "./own-hosts.ts";
import { bound } from "./port.ts";

export interface ListenOptions {
  readonly handler: HttpServer;
  /** Default: `127.0.0.1`, so that no other machine can reach it. */
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
  /** Default: `usualConnectionLimits`. */
  readonly limits?: Partial<ConnectionLimits> | undefined;
}

/** Bounds for what a client may hold open. Times are in milliseconds. */
export interface ConnectionLimits {
  /** From the connection, or the end of the request before, to the end of a request's headers. */
  readonly headersMs: number;
  /** The same, to the end of its body. */
  readonly requestMs: number;
  /** How long a client may read nothing of an answer that is being sent. */
  readonly stalledMs: number;
  /** How often connections are checked against `headersMs` and `requestMs`. */
  readonly checkEveryMs: number;
  /** Open connections of one client address. */
  readonly perAddress: number;
}

export const usualConnectionLimits: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 60_000,
  stalledMs: 120_000,
  checkEveryMs: 2_000,
  perAddress: 1_000,
};

export interface Listening {
  /** As this machine reaches it. */
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, lets open requests end, then closes idle ones. `graceMs` bounds the wait (default 5 s). */
  close(graceMs?: number): Promise<void>;
}

/** @throws RuntimeFault `port_taken`, `config_invalid` */
export async function listen({ handler, host = "127.0.0.1", port, limits }: ListenOptions): Promise<Listening> {
  const server = serverOf(handler, { ...usualConnectionLimits, ...limits });
  await bound(server, host, port);
  const address = server.address();
  const listening = isAddress(address) ? address : { address: host, port };
  return {
    url: `http://${reachedAt(host, listening.address)}:${listening.port}`,
    port: listening.port,
    close: (graceMs = 5_000) => closed(server, graceMs),
  };
}

function serverOf(handler: HttpServer, limits: ConnectionLimits): Server {
  // The server gives Node's own request beside the standard one.
  const listener = getRequestListener(
    (request, { incoming }) => handler.fetch(request, { address: incoming.socket.remoteAddress }),
    {
      overrideGlobalObjects: false, // an embedding process keeps its own Request and Response
      // `fetch` never throws: this is a request line or a `Host` that makes no address.
      errorHandler: () => problem("request_invalid", "The request's target and `Host` make no address of this server."),
    },
  );
  // A caller may hold the line for a person as long as it likes, but not while it sends its request.
  const options = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    // Longer than clients keep an idle connection: a call sent on a closing one would be lost.
    keepAliveTimeout: 75_000,
    maxHeaderSize: 16_384,
  };
  const server = createServer(options, (incoming, outgoing) => {
    const { socket } = incoming;
    outgoing.setTimeout(limits.stalledMs, () => {
      if (socket.writableLength > 0) socket.destroy(); // without bytes to send, the caller waits for its outcome
    });
    if (!handler.take(incoming, outgoing)) return listener(incoming, outgoing);
  });
  server.on("clientError", refuseRequest);
  capConnections(server, limits.perAddress);
  return server;
}

const lingerMs = 1_000;

const badRequests: Readonly<Record<string, LastAnswer>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    code: "request_timed_out",
    message: "The request did not arrive in time.",
  },
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    code: "request_invalid",
    message: "The headers are too large.",
  },
};
const notHttp: LastAnswer = {
  status: "400 Bad Request",
  code: "request_invalid",
  message: "This is not an HTTP request.",
};

/** Answers what is not a whole HTTP request, then closes the connection even if the client does not. */
function refuseRequest({ code = "" }: NodeJS.ErrnoException, socket: Socket): void {
  setTimeout(() => socket.destroy(), lingerMs).unref();
  end(socket, badRequests[code] ?? notHttp);
}

/** Refuses the connections of an address above the limit, so that one client cannot use up the file descriptors. */
function capConnections(server: Server, perAddress: number): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    socket.once("close", () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
    if (count <= perAddress) return;
    const message = `This address has ${perAddress} connections open already; close some, or raise \`listen.max_connections_per_address\`.`;
    end(socket, { status: "503 Service Unavailable", code: "too_many_connections", message });
    socket.destroySoon();
  });
}

/** An answer made without the HTTP parser; the connection ends after it. */
interface LastAnswer {
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

function end(socket: Socket, { status, code, message }: LastAnswer): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify({ error: { code, message } });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function closed(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
