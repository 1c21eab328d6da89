import type { Clock } from "../../calls/clock.ts";
import { messageOf } from "../../calls/fault.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { ServerConfig } from "./server-config.ts";
import { ServerShelf, type ToolShelf } from "./server-shelf.ts";
import { notSent, type Upstream, type UpstreamAnswer, type UpstreamCall, type UpstreamEvents } from "./upstream.ts";

const firstDelayMs = 500;
const longestDelayMs = 30_000;
/** A connection that held this long was a good one: the next failure starts at the first delay again. */
const steadyMs = 30_000;
/** A server behind a URL dies silently; one behind a pipe does not. SPEC 13.5 wants it visible within 30 s. */
const pingEveryMs = 20_000;

export type Note = (type: string, summary: string, data: JsonObject) => void | Promise<void>;

export interface ConnectionParts {
  readonly shelf: ToolShelf;
  readonly note: Note;
  readonly clock: Clock;
  /** From 0 to 1: how far into its spread a delay falls. */
  readonly random: () => number;
  /** Makes one connection, not yet connected; rejects when the configuration cannot be resolved. */
  readonly open: (events: UpstreamEvents) => Promise<Upstream>;
  /** A server's last words may hold the secrets it was lent. */
  readonly redact: (text: string) => string;
}

export interface ServerStatus {
  readonly name: string;
  readonly status: "connected" | "connecting" | "disconnected";
  readonly tools: number;
  readonly problem?: string;
  readonly processId?: number;
}

/** One server, kept connected: one connection at a time, made again with growing delays, its tools followed (SPEC 13.4). */
export class Connection {
  readonly name: string;
  readonly #parts: ConnectionParts;
  readonly #shelf: ServerShelf;
  readonly #isRemote: boolean;
  #upstream: Upstream | undefined;
  #opening: Upstream | undefined;
  #status: ServerStatus["status"] = "disconnected";
  #problem: string | undefined;
  #failures = 0;
  #since = 0;
  #inFlight = 0;
  #closed = false;
  #attempt: Promise<void> = Promise.resolve();
  #listing: Promise<void> | undefined;
  #listAgain = false;
  #cancelWait: (() => void) | undefined;

  constructor(name: string, config: ServerConfig, parts: ConnectionParts) {
    this.name = name;
    this.#parts = parts;
    this.#isRemote = config.url !== undefined;
    this.#shelf = new ServerShelf(name, config, parts.shelf, (tool, given, call) => this.#call(tool, given, call));
  }

  get status(): ServerStatus {
    const processId = this.#upstream?.processId;
    return {
      name: this.name,
      status: this.#status,
      tools: this.#shelf.size,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...(processId !== undefined && { processId }),
    };
  }

  /** Resolves after the first attempt, well or not; a failed one goes on in the background. */
  start(): Promise<void> {
    this.#attempt = this.#connect();
    return this.#attempt;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWait?.();
    await Promise.all([this.#upstream?.close(), this.#opening?.close()]);
    await this.#attempt; // one that was under way sees `#closed` and closes what it made
    this.#status = "disconnected";
  }

  async #call(tool: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer> {
    const upstream = this.#upstream;
    if (upstream === undefined || this.#status !== "connected") {
      throw notSent(
        `Tool \`${tool}\`: its server \`${this.name}\` is not connected${this.#problem === undefined ? "" : `: ${this.#problem}`}.`,
      );
    }
    this.#inFlight += 1;
    try {
      return await upstream.callTool(tool, given, call);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #connect(): Promise<void> {
    this.#status = "connecting";
    let upstream: Upstream | undefined;
    let gone: string | undefined;
    try {
      upstream = await this.#parts.open({
        onClose: (why) => {
          gone = why;
          if (upstream !== undefined && upstream === this.#upstream) this.#lost(why);
        },
        onToolsChanged: () => void this.#list(),
      });
      this.#opening = upstream;
      if (this.#closed) throw new Error("closed");
      const { name, version, revision } = await upstream.connect();
      const tools = await upstream.listTools();
      if (gone !== undefined) throw new Error(gone);
      if (this.#closed) return void (await upstream.close());
      this.#upstream = upstream;
      this.#up();
      await this.#note("mcp.connected", `Server \`${this.name}\` is connected.`, {
        server: this.name,
        revision,
        serves: `${name} ${version}`.trim(),
      });
      await this.#synced(this.#shelf.sync(tools));
    } catch (error) {
      await upstream?.close();
      if (!this.#closed) this.#lost(messageOf(error));
    } finally {
      this.#opening = undefined;
    }
  }

  #up(): void {
    this.#status = "connected";
    this.#problem = undefined;
    this.#since = this.#parts.clock.monotonic();
    this.#parts.shelf.setServer(this.name, "up");
    if (this.#isRemote) this.#pingLater();
  }

  /** Health first, at once; then the record; then another try. */
  #lost(said: string): void {
    if (this.#closed) return;
    const why = this.#parts.redact(said);
    const { clock, shelf, random } = this.#parts;
    const wasUp = this.#status === "connected";
    const old = this.#upstream;
    this.#upstream = undefined;
    this.#status = "disconnected";
    this.#problem = why;
    shelf.setServer(this.name, "down", why);
    if (wasUp && clock.monotonic() - this.#since >= steadyMs) this.#failures = 0;
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.75 + random() / 2);
    this.#failures += 1;
    if (wasUp || this.#failures === 1)
      void this.#note("mcp.disconnected", `Server \`${this.name}\` is not connected: ${why}`, {
        server: this.name,
        problem: why,
      });
    this.#cancelWait?.();
    this.#cancelWait = clock.in(Math.round(delayMs), () => void this.start());
    void old?.close();
  }

  /** A call that is under way tells as much as a ping, and a busy server may answer none. */
  #pingLater(): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#parts.clock.in(pingEveryMs, () => {
      if (this.#inFlight === 0) this.#upstream?.ping().catch(ignored); // `onClose` has said it
      this.#pingLater();
    });
  }

  /** One listing at a time; whatever changed during it is listed once more. */
  #list(): Promise<void> {
    if (this.#listing !== undefined) this.#listAgain = true;
    this.#listing ??= this.#relist().finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #relist(): Promise<void> {
    do {
      this.#listAgain = false;
      const upstream = this.#upstream;
      if (upstream === undefined) return; // connecting lists anyway
      try {
        const tools = await upstream.listTools();
        if (upstream === this.#upstream) await this.#synced(this.#shelf.sync(tools));
      } catch (error) {
        await this.#note(
          "mcp.tools_synced",
          `The tools of server \`${this.name}\` could not be listed: ${messageOf(error)}`,
          { server: this.name, problem: this.#parts.redact(messageOf(error)) },
        );
      }
    } while (this.#listAgain);
  }

  async #synced(diff: ReturnType<ServerShelf["sync"]>): Promise<void> {
    const { added, removed, changed, refused } = diff;
    if (added.length + removed.length + changed.length + refused.length === 0) return;
    const summary = `Tools of server \`${this.name}\`: ${added.length} added, ${changed.length} changed, ${removed.length} removed, ${refused.length} refused.`;
    await this.#note("mcp.tools_synced", summary, {
      server: this.name,
      added,
      changed,
      removed,
      refused,
    });
  }

  async #note(type: string, summary: string, data: JsonObject): Promise<void> {
    try {
      await this.#parts.note(type, summary, data);
    } catch {
      // Nothing can be recorded now: calls are refused for that very reason, and the connection is not the one to stop.
    }
  }
}

function ignored(): void {}
