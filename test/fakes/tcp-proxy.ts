import { connect, createServer, type Server, type Socket } from "node:net";

/** What happens to bytes on their way. */
export type ProxyMode =
  | "forward"
  /** A partition: nothing passes in either direction, also no end of a connection. It passes when the mode is `forward` again. */
  | "hold"
  /** Requests pass, answers do not: what the server did is not known. */
  | "drop answers"
  /** New connections are closed. */
  | "refuse";

/** Stands between a client and a server on this machine. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #held: (() => void)[] = [];
  #mode: ProxyMode = "forward";
  /** Each request arrives so much later. */
  delayMs = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async open(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  set mode(mode: ProxyMode) {
    this.#mode = mode;
    if (mode === "forward") for (const pass of this.#held.splice(0)) pass();
  }

  /** Ends all connections. */
  cut(): void {
    this.#held.length = 0;
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket): void {
    if (this.#mode === "refuse") return void client.destroy();
    const server = connect(this.#target, "127.0.0.1");
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [server, client] as const]) {
      const way = { lastDue: 0 };
      from.on("error", () => {}); // `close` follows
      from.on("close", () => {
        this.#pairs.delete(pair);
        if (this.#mode === "hold") this.#held.push(() => to.end());
        else to.destroy();
      });
      from.on("data", (bytes) => this.#pass(() => to.writable && to.write(bytes), from === client, way));
    }
  }

  #pass(send: () => void, isRequest: boolean, way: { lastDue: number }): void {
    if (this.#mode === "hold") this.#held.push(send);
    if (this.#mode === "hold" || (this.#mode === "drop answers" && !isRequest)) return;
    const due = Math.max(way.lastDue, performance.now() + (isRequest ? this.delayMs : 0));
    way.lastDue = due; // none overtakes another
    if (due <= performance.now()) send();
    else setTimeout(send, due - performance.now());
  }
}
