import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { networkPolicy } from "../../packages/engines/src/remote/kubernetes/policy.ts";

export interface FakePod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly containers: readonly { readonly command: readonly string[] }[] };
  readonly status?: object;
}

/** The part of a cluster's API that one pod needs. Its containers are plain processes: it shows the protocol, not the isolation. */
export class FakeCluster implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly pods: Map<string, FakePod> = new Map<string, FakePod>();
  policies: readonly object[] = [networkPolicy("scripts")];
  /** Replaces the answer to a request; `hang` never answers. */
  answers: (asked: string) => readonly [number, unknown] | "hang" | undefined = () => undefined;
  /** Changes a pod as an admission controller does. */
  admits: (pod: FakePod) => object = (pod) => pod;
  status: (pod: FakePod) => object = () => ({ phase: "Running" });
  /** Handles an attached connection instead of a container. */
  attaches: ((socket: Duplex) => void) | undefined;
  protocol = "v5.channel.k8s.io";
  readonly #server: Server;
  readonly #guests = new Set<ChildProcess>();
  readonly #sockets = new Set<Duplex>();

  private constructor() {
    this.#server = createServer((request, answer) => {
      let body = "";
      request.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on("end", () => {
        const given = this.#answer(request, body);
        if (given === "hang") return;
        const [status, said] = given;
        answer.writeHead(status, { "content-type": "application/json" });
        answer.end(typeof said === "string" ? said : JSON.stringify(said));
      });
    });
    this.#server.on("upgrade", (request, socket) => this.#attach(request, socket));
  }

  static async open(): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    await new Promise<void>((resolve) => cluster.#server.listen(0, "127.0.0.1", resolve));
    return cluster;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // it listens on a port
  }

  /** Keeps attached connections open and silent from now on. */
  freeze(): void {
    for (const socket of this.#sockets) socket.pause();
    for (const guest of this.#guests) guest.stdout?.pause();
  }

  count(verb: string): number {
    return this.asked.filter((line) => line.startsWith(verb)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const guest of this.#guests) guest.kill("SIGKILL");
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer({ method = "", url = "", headers }: IncomingMessage, body: string): readonly [number, unknown] | "hang" {
    const path = url.split("?", 1)[0] ?? "";
    this.asked.push(`${method} ${path}`);
    const instead = this.answers(`${method} ${path}`);
    if (instead !== undefined) return instead;
    if (headers.authorization !== "Bearer cluster-token") return [401, { kind: "Status", message: "Unauthorized" }];
    if (path.endsWith("/networkpolicies")) return [200, { items: this.policies }];
    if (path.endsWith("/pods") && method === "GET") return [200, { items: [...this.pods.values()] }];
    const name = path.split("/").at(-1) ?? "";
    if (method === "POST") {
      const pod: FakePod = JSON.parse(body);
      if (this.pods.has(pod.metadata.name)) return [409, { kind: "Status", message: "it exists" }];
      this.pods.set(pod.metadata.name, pod);
      return [201, this.admits(pod)];
    }
    if (method === "DELETE") return this.pods.delete(name) ? [200, { kind: "Status" }] : [404, { kind: "Status" }];
    const pod = this.pods.get(name);
    return pod === undefined ? [404, { kind: "Status", message: "not found" }] : [200, { status: this.status(pod) }];
  }

  #attach({ url = "", headers }: IncomingMessage, socket: Duplex): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    const path = url.split("?", 1)[0] ?? "";
    this.asked.push(`ATTACH ${path}`);
    const pod = this.pods.get(path.split("/").at(-2) ?? "");
    const refused =
      headers.authorization === "Bearer cluster-token" ? this.answers(`ATTACH ${path}`) : ([401, ""] as const);
    if (refused === "hang") return;
    if (refused !== undefined || pod === undefined) {
      socket.end(`HTTP/1.1 ${refused?.[0] ?? 404} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const accept = createHash("sha1")
      .update(`${headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    const agreed = [`Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${this.protocol}`];
    socket.write([...lines, ...agreed, "", ""].join("\r\n"));
    if (this.attaches === undefined) this.#run(pod, socket);
    else this.attaches(socket);
  }

  #run(pod: FakePod, socket: Duplex): void {
    const [command = "", ...words] = pod.spec.containers[0]?.command ?? [];
    const guest = spawn(command, words, { env: { PATH: "/usr/bin:/bin" }, stdio: ["pipe", "pipe", "ignore"] });
    this.#guests.add(guest);
    guest.stdin.on("error", () => undefined);
    socket.write(frameOf(Buffer.of(1))); // streams open with an empty message
    guest.stdout.on("data", (chunk: Buffer) => {
      const half = Math.ceil(chunk.length / 2);
      socket.write(frameOf(Buffer.concat([Buffer.of(1), chunk.subarray(0, half)]), 0x02)); // a message in two frames
      socket.write(frameOf(Buffer.alloc(0), 0x89)); // a ping between them
      socket.write(frameOf(chunk.subarray(half), 0x80));
    });
    guest.on("exit", (code, signal) => {
      const ended = signal === null ? (code ?? 0) : 137;
      const causes = [{ reason: "ExitCode", message: String(ended) }];
      const said = ended === 0 ? { status: "Success" } : { status: "Failure", details: { causes } };
      socket.end(frameOf(Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify(said).replace(":{", ": {"))])));
    });
    fed(socket, guest);
    socket.on("close", () => guest.stdin.end());
  }
}

function fed(socket: Duplex, { stdin }: { readonly stdin: NodeJS.WritableStream }): void {
  let held = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    for (let read = readFrame(held); read !== undefined; read = readFrame(held)) {
      held = held.subarray(read.size);
      if (read.opcode === 8) stdin.end();
      else if (read.opcode === 2 && read.payload[0] === 0) stdin.write(read.payload.subarray(1));
    }
  });
}

/** Returns a server's frame, which is not masked. */
export function frameOf(payload: Buffer, first = 0x82): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(first, length), payload]);
  const extra = length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + extra);
  head.writeUInt8(first, 0);
  head.writeUInt8(extra === 2 ? 126 : 127, 1);
  if (extra === 2) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** Reads a client's frame, which is masked. Returns undefined when it is incomplete. */
function readFrame(
  held: Buffer,
): { readonly opcode: number; readonly payload: Buffer; readonly size: number } | undefined {
  if (held.length < 6) return undefined;
  const short = held.readUInt8(1) & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (held.length < 6 + extra) return undefined;
  const length = extra === 0 ? short : extra === 2 ? held.readUInt16BE(2) : Number(held.readBigUInt64BE(2));
  const size = 6 + extra + length;
  if (held.length < size) return undefined;
  const mask = held.subarray(2 + extra, 6 + extra);
  const payload = Buffer.from(held.subarray(6 + extra, size));
  for (let at = 0; at < payload.length; at += 1) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return { opcode: held.readUInt8(0) & 0x0f, payload, size };
}
