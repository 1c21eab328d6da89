import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = "/usr/sbin/nats-server";
/** Debian's package `nats-server`. */
export const hasNats: boolean = existsSync(program);

/** A real NATS server on a free port, with its own folder. It can be killed and come back with what it stored. */
export class NatsServer implements AsyncDisposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "postern-nats-"));
  readonly port: number;
  readonly #words: readonly string[];
  #child: ChildProcess | undefined;

  static async started(...words: readonly string[]): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), words);
    await server.start();
    return server;
  }

  private constructor(port: number, words: readonly string[]) {
    this.port = port;
    this.#words = words;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const store = this.#words.includes("--without-jetstream") ? [] : ["-js", "-sd", this.folder];
    const words = this.#words.filter((word) => word !== "--without-jetstream");
    this.#child = spawn(program, ["-a", "127.0.0.1", "-p", String(this.port), ...store, ...words], { stdio: "ignore" });
    while (!(await listens(this.port))) if (this.#child.exitCode !== null) throw new Error("nats-server did not start");
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "close");
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("data", () => {
      socket.destroy();
      resolve(true); // NATS speaks first
    });
    socket.once("error", () => setTimeout(resolve, 20, false));
  });
}
