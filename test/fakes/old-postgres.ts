import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

/** What `select` of a server's settings answers for version 14, one column each. */
const settings = { number: "140012", version: "14.12", read_only: "off" } as const;

/** Speaks as much of the protocol of PostgreSQL as a client needs to ask for the version. */
export class OldPostgres implements AsyncDisposable {
  readonly #server: Server = createServer((socket) => this.#serve(socket));
  /** The statements that were sent. */
  readonly asked: string[] = [];

  static async started(): Promise<OldPostgres> {
    const server = new OldPostgres();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    return `postgres://ann:secret@127.0.0.1:${typeof address === "object" ? address?.port : ""}/postern`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    let hasBegun = false;
    socket.on("error", () => {}); // the client has gone
    socket.on("data", (bytes) => {
      const kind = String.fromCharCode(bytes[0] ?? 0);
      if (!hasBegun) socket.write(Buffer.concat([message("R", int32(0)), ready]));
      else if (kind === "Q") socket.write(this.#answer(bytes.toString("utf8", 5, bytes.length - 1)));
      else if (kind === "X") socket.end();
      hasBegun = true;
    });
  }

  #answer(statement: string): Buffer {
    this.asked.push(statement);
    const names = Object.keys(settings).map((name) =>
      Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]),
    );
    const values = Object.values(settings).map((value) => Buffer.concat([int32(value.length), Buffer.from(value)]));
    return Buffer.concat([
      message("T", int16(names.length), ...names),
      message("D", int16(values.length), ...values),
      message("C", Buffer.from("SELECT 1\0")),
      ready,
    ]);
  }
}

const ready: Buffer = message("Z", Buffer.from("I"));

function message(kind: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
