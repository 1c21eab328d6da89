import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What the process saw. */
export interface Seen {
  readonly refreshes: number;
  /** Requests of the token endpoint that were held. */
  readonly held: number;
  /** Connections of held requests that ended. */
  readonly abandoned: number;
  /** Access and refresh tokens. */
  readonly issued: readonly string[];
  readonly registrations: number;
  readonly revocations: number;
  /** Of the requests that were let in, in order. */
  readonly tokens: readonly string[];
  /** The header of every request to the MCP server. */
  readonly authorizations: readonly string[];
}

export interface Behaviour {
  /** Every access token that was used so far is refused from now on. */
  readonly refuse?: true;
  /** It behaves as at its start, and forgets what it saw. */
  readonly reset?: true;
  /** The status of every answer of the token endpoint; null: as it should be. */
  readonly status?: number | null;
  /** Whether the token endpoint cuts off every request. */
  readonly dies?: boolean;
  /** Whether the token endpoint reads no request until it is told otherwise. What a client has given up by then is not read. */
  readonly holds?: boolean;
  /** Whether the whole authorization server cuts off every request. */
  readonly dead?: boolean;
  /** Whether the MCP server also lets in requests without a token. */
  readonly isOpen?: boolean;
}

/** A real authorization server, whose refresh tokens are good once, and the MCP server that it guards, in a process of their own. */
export class GuardedServer implements AsyncDisposable {
  readonly issuer: string;
  /** Address of the MCP server. */
  readonly url: string;
  readonly #child: ChildProcess;
  #asked = 0;

  private constructor(
    { issuer, resource }: { readonly issuer: string; readonly resource: string },
    child: ChildProcess,
  ) {
    this.issuer = issuer;
    this.url = resource;
    this.#child = child;
  }

  static async start(): Promise<GuardedServer> {
    const child = spawn(process.execPath, [join(import.meta.dirname, "guarded-server-process.js")], {
      stdio: ["ignore", "pipe", process.env["GUARDED_STDERR"] === undefined ? "ignore" : "inherit", "ipc"],
    });
    if (child.stdout === null) throw new Error("The server has no output.");
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith("{")) return new GuardedServer(JSON.parse(line), child);
    throw new Error("The server did not start.");
  }

  /** Changes how it behaves, and returns what it saw so far. */
  async tell(behaviour: Behaviour = {}): Promise<Seen> {
    this.#asked += 1;
    const mine = this.#asked;
    const told = new Promise<Seen>((resolve) => {
      const onMessage = ({ ask, seen }: { readonly ask: number; readonly seen: Seen }): void => {
        if (ask !== mine) return;
        this.#child.off("message", onMessage);
        resolve(seen);
      };
      this.#child.on("message", onMessage);
    });
    this.#child.send({ ask: mine, ...behaviour });
    return told;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}
