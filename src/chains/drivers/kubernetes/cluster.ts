/** Requests to a cluster's API: each bounded in time and size, and none follows a redirect. */
import { type ClientRequest, request as plainRequest } from "node:http";
import { type RequestOptions, request as securedRequest } from "node:https";
import type { Duplex } from "node:stream";
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import type { Access } from "./access.ts";
import { handshake } from "./web-socket.ts";

const requestMs = 10_000;
const mostAnswerBytes = 8 * 1024 * 1024;
const mostSaid = 300;

/** The cluster said no. */
export class ClusterRefused extends Error {
  override readonly name = "ClusterRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Upgraded {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly protocol: string;
}

export class Cluster {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** @throws ClusterRefused, or Error where there is no answer that can be used */
  async ask(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<JsonObject> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const asked = await this.#request(path, {
      method,
      headers: {
        accept: "application/json",
        ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly status: number; readonly said: string }>();
    const late = setTimeout(() => asked.destroy(new Error(`No answer within ${requestMs} ms.`)), requestMs);
    asked.on("error", reject);
    asked.on("response", (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostAnswerBytes) asked.destroy(new Error(`An answer is larger than ${mostAnswerBytes} bytes.`));
        else chunks.push(chunk);
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, said: Buffer.concat(chunks).toString("utf8") }));
      answer.on("error", reject);
    });
    asked.end(text);
    try {
      return read(`${method} ${path.split("?", 1)[0]}`, await promise);
    } finally {
      clearTimeout(late);
    }
  }

  /** A connection that speaks one of the protocols. */
  async upgrade(path: string, protocols: readonly string[]): Promise<Upgraded> {
    const { headers, agreed } = handshake(protocols);
    const asked = await this.#request(path, { method: "GET", headers });
    const { promise, resolve, reject } = Promise.withResolvers<Upgraded>();
    const late = setTimeout(() => asked.destroy(new Error(`No answer within ${requestMs} ms.`)), requestMs);
    asked.on("error", reject);
    asked.on("response", (answer) => {
      answer.resume();
      asked.destroy();
      reject(new ClusterRefused(answer.statusCode ?? 0, `The cluster refused to attach (${answer.statusCode}).`));
    });
    asked.on("upgrade", (answer, socket, head) => {
      try {
        resolve({ socket, head, protocol: agreed(answer) });
      } catch (error) {
        socket.destroy();
        reject(error);
      }
    });
    asked.end();
    try {
      return await promise;
    } finally {
      clearTimeout(late);
    }
  }

  async #request(path: string, options: RequestOptions): Promise<ClientRequest> {
    const { server, tls } = this.#access;
    const token = await this.#access.token();
    const url = new URL(`${server.pathname.replace(/\/$/, "")}${path}`, server);
    const headers = { ...options.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const send = url.protocol === "http:" ? plainRequest : securedRequest;
    return send(url, { ...options, ...tls, headers, agent: false });
  }
}

function read(asked: string, { status, said }: { readonly status: number; readonly said: string }): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(said);
  } catch {
    parsed = undefined; // a proxy's page, most likely; its status tells
  }
  const answer = isJsonObject(parsed) ? parsed : undefined;
  if (status >= 200 && status < 300 && answer !== undefined) return answer;
  const { message } = answer ?? {};
  const why = typeof message === "string" ? `: ${message.slice(0, mostSaid)}` : "";
  throw new ClusterRefused(status, `The cluster answered ${asked} with ${status}${why}`);
}
