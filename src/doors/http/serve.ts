import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { problem } from "./answers.ts";
import type { HttpDoor } from "./http-door.ts";
import { bound } from "./port.ts";

export interface ListenOptions {
  readonly door: HttpDoor;
  /** Default: `127.0.0.1`, so that nobody outside this machine gets as far as the token. */
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, lets open requests end, then closes idle ones. `graceMs` bounds the wait (default 5 s). */
  close(graceMs?: number): Promise<void>;
}

/** What clients on this machine call it: what the door's `hosts` should be when it listens on loopback. */
export function loopbackHosts(port: number): readonly string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

/** @throws RuntimeFault `port_taken`, `listen_failed` */
export async function listen({ door, host = "127.0.0.1", port }: ListenOptions): Promise<Listening> {
  const server = serverOf(door);
  await bound(server, host, port);
  const address = server.address();
  const listeningPort = isAddress(address) ? address.port : port;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${listeningPort}`,
    port: listeningPort,
    close: (graceMs = 5_000) => closed(server, graceMs),
  };
}

function serverOf(door: HttpDoor): Server {
  // The server gives Node's own request beside the standard one.
  const listener = getRequestListener(
    (request, { incoming }) => door.fetch(request, { address: incoming.socket.remoteAddress }),
    {
      overrideGlobalObjects: false, // an embedding process keeps its own Request and Response
      // The door never throws: what comes here is a request line or a Host that makes no address.
      errorHandler: () => problem("request_invalid", "The request's target and `Host` make no address of this server."),
    },
  );
  // A caller may hold the line for a person as long as it likes, but not while it sends its request.
  const limits = {
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    // Longer than clients leave a line idle: one cut in the moment it is written to is a call nobody knows about.
    keepAliveTimeout: 75_000,
    maxHeaderSize: 16_384,
  };
  const server = createServer(limits, listener);
  server.on("clientError", refuseGarbage);
  return server;
}

/** What is not HTTP at all gets an answer in the same form, and the line is cut. */
function refuseGarbage(_: Error, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify({
    error: { code: "request_invalid", message: "This is not an HTTP request." },
  });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
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
