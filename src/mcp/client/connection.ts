import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/fault.ts";
import type { JsonObject } from "../../core/json.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { ReadUi } from "./adapter.ts";
import type { Pins } from "./pins.ts";
import { ServerTools, type ToolRegistrar, type ToolsDiff } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import { trustedPage, uiPageIn } from "./ui.ts";
import {
  isWorthResending,
  notSent,
  type RefusedTool,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
} from "./upstream.ts";

const firstDelayMs = 500;
const longestDelayMs = 30_000;
/** No server is left alone for longer, whatever it asks for. */
const longestAskedMs = 3_600_000;
/** A connection that held this long was a good one: the next failure starts at the first delay again. */
const steadyMs = 30_000;
/** A server behind a URL dies silently; one behind a pipe does not. It is to be seen within 30 s (SPEC 13.5). */
const pingEveryMs = 20_000;
/** A server that says all the time that its tools changed is listened to so often. */
const relistEveryMs = 200;

export type NoteEvent = (type: string, summary: string, data: JsonObject) => void | Promise<void>;

export interface ConnectionParts {
  readonly shelf: ToolRegistrar;
  readonly pins: Pins;
  readonly note: NoteEvent;
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
  /** Listed by the server and not offered. */
  readonly refused: readonly RefusedTool[];
  readonly problem?: string;
  readonly processId?: number;
}

/** One server, kept connected: one connection at a time, made again with growing delays, its tools followed (SPEC 13.4). */
export class UpstreamConnection {
  readonly name: string;
  readonly #parts: ConnectionParts;
  readonly #shelf: ServerTools;
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
  /** The end of the connection before: only then is another one made. */
  #ending: Promise<void> = Promise.resolve();
  #listing: Promise<void> | undefined;
  #listAgain = false;
  #cancelWait: (() => void) | undefined;
  #endPause: (() => void) | undefined;

  constructor(name: string, config: ServerConfig, parts: ConnectionParts) {
    this.name = name;
    this.#parts = parts;
    this.#isRemote = config.url !== undefined;
    const { shelf, pins } = parts;
    const readUi: ReadUi = async (tool, uri) => {
      const page = uiPageIn(redactJson(await this.#connected(uri).readResource(uri), parts), uri);
      return trustedPage(page, { server: name, tool, uri, strict: config.pin === "strict" }, pins);
    };
    this.#shelf = new ServerTools(name, config, { shelf, pins, call: (...call) => this.#call(...call), readUi });
    pins.follow(name, async () => {
      const diff = await this.#shelf.again();
      if (diff !== undefined) await this.#synced(diff);
    });
  }

  get status(): ServerStatus {
    const processId = this.#upstream?.processId;
    return {
      name: this.name,
      status: this.#status,
      tools: this.#shelf.size,
      refused: this.#shelf.refused,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...(processId !== undefined && { processId }),
    };
  }

  /** The server's own names of its tools. Undefined: it has not been connected yet. */
  get listed(): readonly string[] | undefined {
    return this.#shelf.listed;
  }

  /** Resolves after the first attempt, well or not; a failed one goes on in the background. */
  start(): Promise<void> {
    this.#attempt = this.#connect();
    return this.#attempt;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWait?.();
    this.#endPause?.();
    await Promise.all([this.#upstream?.close(), this.#opening?.close()]);
    await this.#attempt; // one that was under way sees `#closed` and closes what it made
    await this.#ending;
    this.#status = "disconnected";
  }

  /** A server that forgot the session did not run the call: it is connected again, and the call is sent once more. */
  async #call(tool: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    const upstream = this.#connected(tool);
    const definition = this.#shelf.digestOf(tool);
    try {
      return await this.#send(upstream, tool, given, call);
    } catch (error) {
      if (!isWorthResending(error) || call.signal.aborted || this.#closed) throw error;
      await this.#reconnect();
      const next = this.#upstream;
      if (next === undefined || call.signal.aborted) throw error;
      if (this.#shelf.digestOf(tool) !== definition)
        throw notSent(
          `Tool \`${tool}\`: its server was connected again and defines it otherwise now; nothing was run.`,
        );
      return await this.#send(next, tool, given, call);
    }
  }

  // biome-ignore lint/complexity/useMaxParams: the call as it was given, and where it goes
  async #send(
    upstream: Upstream,
    tool: string,
    given: JsonObject,
    call: UpstreamCall,
  ): Promise<UpstreamAnswer | LostAnswer> {
    this.#inFlight += 1;
    try {
      return await upstream.callTool(tool, given, call);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #connected(what: string): Upstream {
    if (this.#upstream !== undefined && this.#status === "connected") return this.#upstream;
    const why = this.#problem === undefined ? "" : `: ${this.#problem}`;
    throw notSent(`Tool \`${what}\`: its server \`${this.name}\` is not connected${why}.`);
  }

  /** At once, whatever the delay: a call waits. Calls that need it at the same moment share it. */
  async #reconnect(): Promise<void> {
    if (this.#status === "connected") return;
    if (this.#status !== "connecting") {
      this.#cancelWait?.();
      void this.start();
    }
    await this.#attempt;
  }

  async #connect(): Promise<void> {
    this.#status = "connecting";
    let upstream: Upstream | undefined;
    let gone: string | undefined;
    await this.#ending;
    try {
      upstream = await this.#parts.open({
        onClose: (why) => {
          gone = why;
          if (upstream !== undefined && upstream === this.#upstream) this.#lost(why, upstream.waitUntil);
        },
        onToolsChanged: () => void this.#list(),
      });
      this.#opening = upstream;
      if (this.#closed) throw new Error("closed");
      const { name, version, revision } = await upstream.connect();
      this.#listAgain = false;
      // Before anything can be called: what changed while nobody looked is blocked by then.
      const diff = await this.#shelf.sync(this.#masked(await upstream.listTools()));
      if (gone !== undefined) throw new Error(gone);
      if (this.#closed) return void (await upstream.close());
      this.#upstream = upstream;
      this.#up();
      await this.#note("mcp.connected", `Server \`${this.name}\` is connected.`, {
        server: this.name,
        revision,
        serves: `${name} ${version}`.trim(),
      });
      await this.#synced(diff);
      if (this.#listAgain) void this.#list();
    } catch (error) {
      await upstream?.close();
      if (!this.#closed) this.#lost(messageOf(error), upstream?.waitUntil);
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
  #lost(said: string, waitUntil = 0): void {
    if (this.#closed) return;
    const { clock, shelf, random } = this.#parts;
    const askedMs = Math.min(longestAskedMs, waitUntil - clock.now());
    const asks = askedMs > 0 ? ` (the server asks to wait until ${new Date(waitUntil).toISOString()})` : "";
    const why = this.#parts.redact(said) + asks;
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
    this.#cancelWait = clock.in(Math.round(Math.max(delayMs, askedMs)), () => void this.start());
    this.#ending = old?.close() ?? this.#ending;
  }

  /** A call that is under way tells as much as a ping, and a busy server may answer none. */
  #pingLater(): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#parts.clock.in(pingEveryMs, () => {
      if (this.#inFlight === 0) this.#upstream?.ping().catch(ignored); // `onClose` has said it
      this.#pingLater();
    });
  }

  /** A server knows the secrets it was lent, and may tell them in a description. */
  #masked(list: UpstreamList): UpstreamList {
    return redactJson(list, this.#parts);
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
      const upstream = this.#upstream;
      this.#listAgain = upstream === undefined; // one that is being connected is asked again when it is
      if (upstream === undefined) return;
      try {
        const list = await upstream.listTools();
        if (upstream === this.#upstream) await this.#synced(await this.#shelf.sync(this.#masked(list)));
      } catch (error) {
        await this.#note(
          "mcp.tools_synced",
          `The tools of server \`${this.name}\` could not be listed: ${this.#parts.redact(messageOf(error))}`,
          { server: this.name, problem: this.#parts.redact(messageOf(error)) },
        );
      }
      await this.#pause();
    } while (this.#listAgain && !this.#closed);
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.in(relistEveryMs, resolve, false);
    this.#endPause = () => {
      cancel();
      resolve();
    };
    if (this.#closed) this.#endPause();
    return promise;
  }

  async #synced(diff: ToolsDiff): Promise<void> {
    const counts = Object.entries<readonly unknown[]>({ ...diff }).filter(([, tools]) => tools.length > 0);
    if (counts.length === 0) return;
    const said = counts.map(([what, tools]) => `${tools.length} ${what}`).join(", ");
    await this.#note("mcp.tools_synced", `Tools of server \`${this.name}\`: ${said}.`, { server: this.name, ...diff });
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
