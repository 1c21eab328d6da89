/**
 * The client's side of a WebSocket (RFC 6455), as much of it as a pod's streams need.
 *
 * Why not the platform's: it takes no certificate authority and no client certificate of a connection's own, and every
 * cluster has those. Invariant: what the other side says is streamed on as it comes; no length it claims is believed.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

export interface SocketListener {
  /** A part of a message; `isFirst` where a message begins. */
  part(bytes: Buffer, isFirst: boolean): void;
  ended(message: string): void;
}

const mostHeaderBytes = 14;
const mostControlBytes = 125;
const mostSentBytes = 128 * 1024;
const opcodes = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Headers of the request that asks for a WebSocket, and the check of what was answered. */
export function handshake(protocols: readonly string[]): {
  readonly headers: Readonly<Record<string, string>>;
  /** @throws Error where it is no WebSocket of ours */
  agreed(answer: IncomingMessage): string;
} {
  const key = randomBytes(16).toString("base64");
  return {
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": protocols.join(", "),
    },
    agreed: ({ headers }) => {
      const due = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      if (headers["sec-websocket-accept"] !== due) throw new Error("The answer to the handshake is another's.");
      const protocol = headers["sec-websocket-protocol"] ?? "";
      if (!protocols.includes(protocol))
        throw new Error(`It speaks \`${protocol.slice(0, 64)}\`, which is no protocol of ours.`);
      return protocol;
    },
  };
}

export class WebSocketLine {
  readonly #socket: Duplex;
  readonly #listener: SocketListener;
  #held = Buffer.alloc(0);
  /** Of the frame that is being read. */
  #left = 0;
  #isInMessage = false;
  #isFirst = false;
  #isOver = false;
  #heard = true;

  /** @param head what came together with the answer to the handshake */
  constructor(socket: Duplex, head: Buffer, listener: SocketListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#end(`The connection failed: ${error.message}`));
    socket.on("end", () => this.#end("The connection was closed by the other side."));
    socket.on("close", () => this.#end("The connection was closed."));
    if (head.length > 0) this.#read(head);
  }

  /** One message, in one frame. */
  send(bytes: Buffer): void {
    this.#write(opcodes.binary, bytes);
  }

  /** Bytes after a byte that says which stream they are of. */
  sendTo(channel: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += mostSentBytes)
      this.send(Buffer.concat([Buffer.of(channel), bytes.subarray(at, at + mostSentBytes)]));
  }

  /** Since it was last asked. */
  get heardSomething(): boolean {
    const heard = this.#heard;
    this.#heard = false;
    return heard;
  }

  ping(): void {
    this.#write(opcodes.ping, Buffer.alloc(0));
  }

  close(): void {
    if (!this.#isOver) this.#write(opcodes.close, Buffer.alloc(0));
    this.#isOver = true;
    this.#socket.destroy();
  }

  #write(opcode: number, payload: Buffer): void {
    if (this.#isOver) return;
    const size = payload.length;
    const extra = size <= mostControlBytes ? 0 : size < 65_536 ? 2 : 8;
    const frame = Buffer.allocUnsafe(6 + extra + size);
    frame.writeUInt8(0x80 | opcode, 0);
    frame.writeUInt8(0x80 | (extra === 0 ? size : extra === 2 ? 126 : 127), 1);
    if (extra === 2) frame.writeUInt16BE(size, 2);
    if (extra === 8) frame.writeBigUInt64BE(BigInt(size), 2);
    const mask = randomBytes(4);
    mask.copy(frame, 2 + extra);
    for (let at = 0; at < size; at += 1) frame[6 + extra + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
    this.#socket.write(frame);
  }

  #read(chunk: Buffer): void {
    this.#heard = true;
    let rest = chunk;
    while (rest.length > 0 && !this.#isOver) rest = this.#left > 0 ? this.#pass(rest) : this.#begin(rest);
  }

  /** Of a data frame: handed on as it comes. */
  #pass(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.#left);
    this.#left -= part.length;
    this.#listener.part(part, this.#isFirst);
    this.#isFirst = false;
    return bytes.subarray(part.length);
  }

  /** A frame's header, and the whole frame where it is one of control. */
  #begin(bytes: Buffer): Buffer {
    const known = this.#held.length;
    const head = Buffer.concat([this.#held, bytes.subarray(0, mostHeaderBytes + mostControlBytes - known)]);
    const size = sizeOf(head);
    const opcode = (head[0] ?? 0) & 0x0f;
    const isControl = opcode >= opcodes.close;
    const needed = size === undefined ? head.length + 1 : size.header + (isControl ? size.payload : 0);
    const problem = head.length < 2 ? undefined : this.#problem(head, opcode, size?.payload);
    if (problem !== undefined) return this.#broken(problem);
    if (head.length < needed || size === undefined) {
      this.#held = head;
      return bytes.subarray(head.length - known);
    }
    this.#held = Buffer.alloc(0);
    if (isControl) this.#controlled(opcode, head.subarray(size.header, needed));
    else this.#opened(head, opcode, size.payload);
    return bytes.subarray(needed - known);
  }

  #opened(head: Buffer, opcode: number, payload: number): void {
    if (opcode !== opcodes.more) this.#isFirst = true;
    this.#isInMessage = ((head[0] ?? 0) & 0x80) === 0;
    this.#left = payload;
  }

  #controlled(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.ping) this.#write(opcodes.pong, payload);
    if (opcode !== opcodes.close) return;
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    this.close();
    this.#listener.ended(`The connection was closed by the other side (${code}).`);
  }

  #problem(head: Buffer, opcode: number, payload: number | undefined): string | undefined {
    const [first = 0, second = 0] = head;
    if ((first & 0x70) !== 0) return "a reserved bit is set";
    if ((second & 0x80) !== 0) return "a server's frame is masked";
    if (opcode >= opcodes.close)
      return (first & 0x80) === 0 || (second & 0x7f) > mostControlBytes || opcode > opcodes.pong
        ? "a control frame is none"
        : undefined;
    if (opcode > opcodes.binary) return "a frame is of no kind we know";
    if ((opcode === opcodes.more) !== this.#isInMessage) return "a message was not begun, or not ended";
    return payload !== undefined && !Number.isSafeInteger(payload) ? "a frame is endless" : undefined;
  }

  #broken(problem: string): Buffer {
    this.close();
    this.#listener.ended(`The connection broke its protocol: ${problem}.`);
    return Buffer.alloc(0);
  }

  #end(message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    this.#listener.ended(message);
  }
}

/** Undefined: the header is not whole yet. */
function sizeOf(head: Buffer): { readonly header: number; readonly payload: number } | undefined {
  if (head.length < 2) return undefined;
  const short = head.readUInt8(1) & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  if (head.length < 2 + extra) return undefined;
  const payload = extra === 0 ? short : extra === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
  return { header: 2 + extra, payload };
}
