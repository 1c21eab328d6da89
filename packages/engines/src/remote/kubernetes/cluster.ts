/** The requests to a cluster's API. Each is bounded in time and size, and none follows a redirect. */
import type { Duplex } from "node:stream";
import { isJsonObject, type JsonObject } from "@postern/core";
import { Agent, request } from "undici";
import type { Access } from "./access.ts";

const requestMs = 10_000;
/** The other side has this time to close the connection after its close message. */
const closeMs = 250;
const maxAnswerBytes = 8 * 1024 * 1024;
const maxMessageBytes = 8 * 1024 * 1024;
const maxReasonLength = 300;

/** The cluster answered with an error. */
export class ClusterRefused extends Error {
  override readonly name = "ClusterRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface SocketListener {
  message(bytes: Buffer): void;
  /** A ping, a pong or a message arrived. */
  alive(): void;
  ended(message: string): void;
}

export interface AttachedSocket {
  send(bytes: Buffer): void;
  ping(): void;
  close(): void;
  /** Whether the connection keeps this process alive. */
  hold(isHeld: boolean): void;
}

export class Cluster {
  readonly #access: Access;
  readonly #agent: Agent;

  constructor(access: Access) {
    this.#access = access;
    this.#agent = new Agent({ connect: access.tls, pipelining: 0, maxResponseSize: maxAnswerBytes });
  }

  /** @throws ClusterRefused, or Error when there is no usable answer */
  async ask(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<JsonObject> {
    const { url, authorization } = await this.#target(path);
    const { statusCode, body: answer } = await request(url, {
      ...{ method, dispatcher: this.#agent, signal: AbortSignal.timeout(requestMs) },
      headers: { ...authorization, accept: "application/json", "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const parsed = parseObject(await answer.text());
    if (statusCode >= 200 && statusCode < 300 && parsed !== undefined) return parsed;
    const { message } = parsed ?? {};
    const reason = typeof message === "string" ? `: ${message.slice(0, maxReasonLength)}` : "";
    throw new ClusterRefused(
      statusCode,
      `The cluster answered ${method} ${path.split("?", 1)[0]} with ${statusCode}${reason}`,
    );
  }

  /** Opens a WebSocket that speaks one of the protocols. `ended` is called once, also after a failure. */
  async attach(path: string, protocols: readonly string[], listener: SocketListener): Promise<AttachedSocket> {
    const { WebSocket } = await import("ws");
    const { url, authorization } = await this.#target(path);
    const bounds = { handshakeTimeout: requestMs, closeTimeout: closeMs, maxPayload: maxMessageBytes };
    const socket = new WebSocket(url, [...protocols], {
      ...{ ...this.#access.tls, ...bounds, perMessageDeflate: false, headers: authorization },
    });
    let connection: Duplex | undefined;
    socket.on("upgrade", (answer) => {
      connection = answer.socket;
    });
    for (const sign of ["ping", "pong", "message"] as const) socket.on(sign, () => listener.alive());
    socket.on("message", (bytes: Buffer) => listener.message(bytes)); // Buffer: the default `binaryType` is "nodebuffer"
    socket.on("error", (error) => listener.ended(`The connection failed: ${error.message}`));
    socket.on("close", (code) => listener.ended(`The connection was closed by the other side (${code}).`));
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
      socket.once("unexpected-response", (_, { statusCode = 0 }) => {
        reject(new ClusterRefused(statusCode, `The cluster refused to attach (${statusCode}).`));
        socket.terminate();
      });
    });
    return {
      send: (bytes) => socket.send(bytes),
      ping: () => socket.ping(),
      close: () => {
        socket.close();
        socket.terminate(); // the other side may never answer the close
      },
      hold: (isHeld) => holdSocket(connection, isHeld),
    };
  }

  async #target(path: string): Promise<{ readonly url: URL; readonly authorization: Record<string, string> }> {
    const { server } = this.#access;
    const token = await this.#access.token();
    const url = new URL(`${server.pathname.replace(/\/$/, "")}${path}`, server);
    return { url, authorization: token === undefined ? {} : { authorization: `Bearer ${token}` } };
  }
}

/** Returns undefined when the text is no JSON object, for example a proxy's error page. */
function parseObject(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** A TCP or TLS socket has both methods. */
function holdSocket(socket: Duplex | undefined, isHeld: boolean): void {
  if (socket !== undefined && "ref" in socket && "unref" in socket)
    (socket as unknown as { ref(): void; unref(): void })[isHeld ? "ref" : "unref"]();
}
