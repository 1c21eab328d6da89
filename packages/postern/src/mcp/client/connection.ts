import { type Clock, defined, type JsonObject, messageOf } from "@postern/core";
import type { ConnectedServer } from "../../connections/connected-server.ts";
import type { ConnectionOwner } from "../../connections/connection-repository.ts";
import { personOf } from "../../connections/connections.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import { signInNeededIn } from "../../tools/sign-in-needed.ts";
import type { CallUpstream, ReadUi } from "./adapter.ts";
import { CallLimits } from "./call-limits.ts";
import type { TrustedDefinitions } from "./definition.ts";
import type { ToolsPlace } from "./listed-tools.ts";
import { PersonalUpstreams } from "./personal-upstreams.ts";
import { type ClientRecord, recordedClient } from "./questions.ts";
import { Relisting } from "./relisting.ts";
import { ServerTools, type ToolRegistrar, type ToolsDiff } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import { featuresIn } from "./server-features.ts";
import { ServerInstructions } from "./server-instructions.ts";
import { ServerNotices } from "./server-notices.ts";
import { ServerRequests } from "./server-requests.ts";
import { ServerUse } from "./server-use.ts";
import { trustedPage, uiPageIn } from "./ui.ts";
import {
  isWorthResending,
  notSentError,
  type RefusedTool,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
} from "./upstream.ts";

const firstDelayMs = 500;
const longestDelayMs = 30_000;
/** The longest wait that a server may ask for. */
const longestAskedMs = 3_600_000;
/** After a connection of this length, the next failure starts at the first delay again. */
const steadyMs = 30_000;
/** A server behind a URL may be lost without a sign. That must be noticed within 30 s. */
const pingEveryMs = 20_000;
const defaultIdleStopMs = 300_000;

export type NoteEvent = (type: string, summary: string, data: JsonObject) => void | Promise<void>;

export interface ConnectionOptions {
  readonly registry: ToolRegistrar;
  readonly pins: TrustedDefinitions;
  readonly note: NoteEvent;
  readonly clock: Clock;
  /** From 0 to 1: how far into its spread a delay falls. */
  readonly random: () => number;
  /**
   * Makes one connection that is not connected yet. Rejects when the configuration cannot be resolved.
   *
   * @param owner whose sign-in it uses, at a server that people sign in to
   */
  readonly open: (events: UpstreamEvents, owner?: ConnectionOwner) => Promise<Upstream>;
  /** The sign-ins at the server, if it asks for any. */
  readonly signIns?: ConnectedServer | undefined;
  /** Masks secrets: a server's output may hold those that it was given. */
  readonly redact: (text: string) => string;
  /** Where its tools are offered. Default: among the tools of the configured servers. */
  readonly place?: ToolsPlace;
  /** Secrets of the server that the runtime does not know. */
  readonly known?: Iterable<string>;
}

export interface ServerStatus {
  readonly name: string;
  /** `idle`: it is started when a call needs it. */
  readonly status: "connected" | "connecting" | "disconnected" | "idle";
  readonly tools: number;
  /** Tools that the server lists and that are not offered. */
  readonly refused: readonly RefusedTool[];
  readonly problem?: string;
  readonly processId?: number;
}

/** Keeps one server connected, with growing delays between attempts, and keeps its registered tools up to date. */
export class UpstreamConnection {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #options: ConnectionOptions;
  readonly #tools: ServerTools;
  readonly #limits: CallLimits;
  readonly #requests: ServerRequests;
  readonly #notices: ServerNotices;
  readonly #instructions: ServerInstructions;
  readonly #isRemote: boolean;
  #upstream: Upstream | undefined;
  #opening: Upstream | undefined;
  #status: ServerStatus["status"] = "disconnected";
  #problem: string | undefined;
  #failures = 0;
  #since = 0;
  readonly #use: ServerUse;
  /** Its tools are known, so it need not run until a call needs it. */
  #canRest = false;
  #closed = false;
  #attempt: Promise<void> = Promise.resolve();
  /** The end of the previous connection. The next one waits for it. */
  #ending: Promise<void> = Promise.resolve();
  /** The connections that calls use if each person has one. This one only lists then. */
  readonly #personal: PersonalUpstreams | undefined;
  /** Whose sign-in this connection uses. */
  #owner: ConnectionOwner | undefined;
  #signInChanges = 0;
  readonly #relisting: Relisting;
  #cancelWait: (() => void) | undefined;
  readonly #record: ClientRecord = {
    note: (type, summary, data) => this.#note(type, summary, redactJson(data, this.#options)),
    redact: (params) => redactJson(params, this.#options),
  };

  constructor(name: string, config: ServerConfig, options: ConnectionOptions) {
    this.name = name;
    this.#config = config;
    this.#options = options;
    const idleMs = config.start === "on_demand" ? (config.idleStopMs ?? defaultIdleStopMs) : undefined;
    this.#use = new ServerUse(options.clock, idleMs, () => this.#stop());
    this.#isRemote = config.command === undefined;
    this.#relisting = new Relisting(options.clock, () => this.#relist());
    this.#limits = new CallLimits(name, config.limits, options.clock);
    const { registry, pins, clock, signIns, place, known } = options;
    const redact = <Value extends JsonObject>(value: Value): Value => redactJson(value, options);
    if (signIns?.isPersonal === true)
      this.#personal = new PersonalUpstreams(name, { clock, redact, open: options.open });
    signIns?.follow((owner) => this.#signInChanged(owner));
    const readUi: ReadUi = async (tool, uri) => {
      const contents = await this.#use.during(async () => (await this.#started(uri)).readResource(uri));
      const page = uiPageIn(redactJson(contents, options), uri);
      return trustedPage(page, { server: name, tool, uri, strict: config.pin === "strict" }, pins);
    };
    const call: CallUpstream = (tool, given, context) =>
      this.#limits.run(tool, context, () =>
        this.#use.during(() => this.#call(tool, given, this.#recorded(tool, context))),
      );
    this.#instructions = new ServerInstructions(name, config, pins);
    this.#notices = new ServerNotices(name, { features: featuresIn(registry), clock, redact });
    this.#requests = new ServerRequests(name, config, {
      ...{ registry, call, notices: this.#notices, instructions: this.#instructions, redact: options.redact },
      list: (...asked) => this.#listOf(...asked),
    });
    this.#tools = new ServerTools(name, config, {
      ...{ registry, pins, call, readUi, redact: options.redact },
      ...defined({ place, known }),
      missing: signIns && ((principal) => signIns.missing(personOf(principal))),
    });
    pins.follow(name, async () => {
      const diff = await this.#tools.again();
      if (diff !== undefined) await this.#synced(diff);
      else if (this.#canRest) await this.showPinned(); // approved before it was started
    });
  }

  get status(): ServerStatus {
    const processId = this.#upstream?.processId;
    return {
      name: this.name,
      status: this.#status,
      tools: this.#tools.size,
      refused: [...this.#tools.refused, ...this.#requests.refused],
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...defined({ processId }),
    };
  }

  /** The server's own names of its tools. Returns undefined before the first connection. */
  get listed(): readonly string[] | undefined {
    return this.#tools.listed;
  }

  /** Registers the tools that are pinned, before the first attempt. If it starts on demand, they are all that is needed. */
  async showPinned(): Promise<void> {
    const { pins } = this.#options;
    const last = this.#isOnDemand ? await pins.servers.lastList(this.name, this.#config).catch(ignored) : undefined;
    const isKnown = await this.#tools.showPinned(pins.list(this.name), last?.tools);
    if (last === undefined || !isKnown) return;
    this.#instructions.assumePinned();
    this.#requests.follow(last);
    this.#canRest = true;
    if (this.#status === "disconnected") this.#rest();
  }

  get #isOnDemand(): boolean {
    return this.#config.start === "on_demand";
  }

  /** Resolves after the first attempt, in success or failure. Further attempts follow in the background. */
  start(): Promise<void> {
    this.#attempt = this.#connect();
    return this.#attempt;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWait?.();
    this.#use.end();
    // A call that waits for its start must not find it idle again.
    if (this.#status !== "connected") this.#options.registry.setServer(this.name, "down", "it is closed");
    this.#relisting.close();
    this.#notices.close();
    await Promise.all([this.#upstream?.close(), this.#opening?.close(), this.#personal?.close()]);
    await this.#attempt; // an open attempt sees `#closed` and closes its connection
    await this.#ending;
    this.#status = "disconnected";
  }

  /** A server that does not know the session did not run the call: it is connected again, and the call is sent again. */
  async #call(tool: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    if (this.#personal !== undefined) return this.#callFor(this.#personal, tool, given, call);
    const definition = this.#tools.digestOf(tool);
    const upstream = await this.#started(tool, definition);
    try {
      return await this.#notices.resources.run(upstream, tool, given, call);
    } catch (error) {
      if (!isWorthResending(error) || call.signal.aborted || this.#closed) throw error;
      await this.#reconnect();
      const next = this.#upstream;
      if (next === undefined || call.signal.aborted) throw error;
      this.#checkSame(tool, definition);
      return await this.#notices.resources.run(next, tool, given, call);
    }
  }

  #checkSame(tool: string, definition: string | undefined): void {
    if (!this.#tools.isListedAs(tool, definition))
      throw notSentError(
        `Tool \`${tool}\`: its server was connected again and defines it differently now; nothing was run.`,
      );
  }

  /** Starts it, if it is idle. A call has waited for that before it was claimed; a preview and a list have not. */
  async #started(what: string, definition?: string): Promise<Upstream> {
    if (this.#canRest && (this.#status === "idle" || this.#status === "connecting")) {
      await this.#reconnect();
      this.#connected(what);
      if (definition !== undefined) this.#checkSame(what, definition);
    }
    return this.#connected(what);
  }

  /** A text of a question may hold a secret of the server. */
  #recorded(tool: string, call: UpstreamCall): UpstreamCall {
    const { client, idempotencyKey: key } = call;
    if (client === undefined) return call;
    return { ...call, client: recordedClient(client, { server: this.name, tool, key }, this.#record) };
  }

  async #callFor(
    personal: PersonalUpstreams,
    tool: string,
    given: JsonObject,
    call: UpstreamCall,
  ): Promise<UpstreamAnswer | LostAnswer> {
    const { signIns } = this.#options;
    const person = call.principal && personOf(call.principal);
    if (signIns === undefined || person === undefined)
      throw notSentError(`Tool \`${tool}\`: its server needs to know for whom it is called.`);
    const missing = signIns.missing(person);
    if (missing !== undefined) throw missing;
    return personal.call(signIns.ownerOf(person), tool, given, call);
  }

  /** Closes what uses the old sign-in. A connection that waits for one is made now. */
  #signInChanged(owner: ConnectionOwner): void {
    this.#signInChanges += 1;
    this.#personal?.forget(owner);
    if (this.#closed) return;
    const isOurs = JSON.stringify(owner) === JSON.stringify(this.#owner);
    if (this.#status === "connected" && isOurs) this.#lost("its sign-in changed");
    if (this.#status !== "disconnected") return;
    this.#cancelWait?.();
    void this.start();
  }

  /** A personal server is listed with the earliest complete sign-in, or without any. */
  #lister(): ConnectionOwner | undefined {
    const { signIns } = this.#options;
    if (signIns === undefined) return undefined;
    return signIns.isPersonal ? signIns.owners()[0] : "server";
  }

  /** Secrets of the server may be in a name or a description. */
  async #listOf(method: string, member: string): Promise<readonly JsonObject[]> {
    const items = await this.#use.during(async () => (await this.#started(method)).list?.(method, member));
    return redactJson(items ?? [], this.#options);
  }

  #connected(what: string): Upstream {
    if (this.#upstream !== undefined && this.#status === "connected") return this.#upstream;
    const why = this.#problem === undefined ? "" : `: ${this.#problem}`;
    throw notSentError(`Tool \`${what}\`: its server \`${this.name}\` is not connected${why}.`);
  }

  /** Connects at once, without the delay, because a call waits. Calls that need it at the same time share the attempt. */
  async #reconnect(): Promise<void> {
    if (this.#status === "connected" || this.#closed) return;
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
    const changes = this.#signInChanges;
    this.#owner = this.#lister();
    try {
      upstream = await this.#options.open(
        {
          onClose: (why) => {
            gone = why;
            if (upstream !== undefined && upstream === this.#upstream) this.#lost(why, upstream.waitUntil);
          },
          onToolsChanged: () => this.#relisting.changed(),
          notices: this.#notices,
        },
        this.#owner,
      );
      this.#opening = upstream;
      if (this.#closed) throw new Error("closed");
      const { name, version, revision } = await upstream.connect();
      this.#relisting.reset();
      await this.#instructions.see(upstream.instructions && this.#options.redact(upstream.instructions));
      // Before anything can be called, so that tools that changed in the meantime are blocked.
      const diff = await this.#tools.sync(this.#masked(await upstream.listTools()));
      if (gone !== undefined) throw new Error(gone);
      if (this.#closed) return void (await upstream.close());
      this.#upstream = upstream;
      this.#requests.follow(upstream);
      this.#up();
      this.#notices.connected(upstream);
      await this.#remember(upstream);
      await this.#note("mcp.connected", `Server \`${this.name}\` is connected.`, {
        server: this.name,
        revision,
        serves: `${name} ${version}`.trim(),
      });
      await this.#synced(diff);
      if (this.#relisting.isStale) this.#relisting.changed();
    } catch (error) {
      await upstream?.close();
      if (this.#closed) return;
      const needed = signInNeededIn(error);
      this.#lost(messageOf(needed ?? error), upstream?.waitUntil);
      if (needed !== undefined && changes === this.#signInChanges) this.#cancelWait?.(); // a sign-in starts the next attempt
    } finally {
      this.#opening = undefined;
    }
  }

  #up(): void {
    this.#status = "connected";
    this.#problem = undefined;
    this.#since = this.#options.clock.monotonic();
    this.#options.registry.setServer(this.name, "up");
    if (this.#isRemote) this.#pingLater();
    this.#use.begin();
  }

  /** What is shown while it is not started. If it cannot be stored, the server is started for it at the next start. */
  async #remember({ capabilities = {} }: Upstream): Promise<void> {
    if (!this.#isOnDemand) return;
    this.#canRest = true;
    const last = { tools: this.#tools.listed ?? [], capabilities: redactJson(capabilities, this.#options) };
    await this.#options.pins.servers.keepList(this.name, this.#config, last).catch(ignored);
  }

  /** No call needed it for its time. */
  #stop(): void {
    if (this.#status !== "connected") return;
    if (this.#notices.wantsUpdates) {
      this.#use.begin(); // clients follow its resources
      return;
    }
    this.#cancelWait?.();
    this.#ending = this.#upstream?.close() ?? this.#ending;
    this.#upstream = undefined;
    this.#rest();
    void this.#note("mcp.stopped", `Server \`${this.name}\` is stopped until a call needs it.`, { server: this.name });
  }

  #rest(): void {
    this.#status = "idle";
    this.#options.registry.setIdle(this.name, () => this.#reconnect());
  }

  /** Reports the server as down at once, then writes the event, then plans the next attempt. */
  #lost(reason: string, waitUntil = 0): void {
    if (this.#closed) return;
    const { clock, registry, random } = this.#options;
    const askedMs = Math.min(longestAskedMs, waitUntil - clock.now());
    const asks = askedMs > 0 ? ` (the server asks to wait until ${new Date(waitUntil).toISOString()})` : "";
    const why = this.#options.redact(reason) + asks;
    const wasUp = this.#status === "connected";
    const old = this.#upstream;
    this.#upstream = undefined;
    this.#status = "disconnected";
    this.#problem = why;
    registry.setServer(this.name, "down", why);
    if (wasUp && clock.monotonic() - this.#since >= steadyMs) this.#failures = 0;
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.75 + random() / 2);
    this.#failures += 1;
    if (wasUp || this.#failures === 1)
      void this.#note("mcp.disconnected", `Server \`${this.name}\` is not connected: ${why}`, {
        server: this.name,
        problem: why,
      });
    this.#cancelWait?.();
    this.#use.end();
    const mayRest = (): boolean => this.#canRest && !this.#notices.wantsUpdates; // else clients would miss changes
    const next = (): void => (mayRest() ? this.#rest() : void this.start());
    this.#cancelWait = clock.in(Math.round(Math.max(delayMs, askedMs)), next);
    this.#ending = old?.close() ?? this.#ending;
  }

  /** An open call shows as much as a ping, and a busy server may not answer a ping. */
  #pingLater(): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#options.clock.in(
      pingEveryMs,
      () => {
        if (!this.#use.isInUse) this.#upstream?.ping().catch(ignored); // `onClose` reports it
        this.#pingLater();
      },
      false,
    );
  }

  /** A server knows the secrets that it was given, and may write them into a description. */
  #masked(list: UpstreamList): UpstreamList {
    return redactJson(list, this.#options);
  }

  async #relist(): Promise<boolean> {
    const upstream = this.#upstream;
    if (upstream === undefined) return false;
    try {
      const list = await this.#use.during(() => upstream.listTools());
      if (upstream !== this.#upstream) return true;
      await this.#synced(await this.#tools.sync(this.#masked(list)));
      await this.#remember(upstream);
    } catch (error) {
      const problem = this.#options.redact(messageOf(error));
      const summary = `The tools of server \`${this.name}\` could not be listed: ${problem}`;
      await this.#note("mcp.tools_synced", summary, { server: this.name, problem });
    }
    return true;
  }

  async #synced(diff: ToolsDiff): Promise<void> {
    const counts = Object.entries<readonly unknown[]>({ ...diff }).filter(([, tools]) => tools.length > 0);
    if (counts.length === 0) return;
    const summary = counts.map(([what, tools]) => `${tools.length} ${what}`).join(", ");
    await this.#note("mcp.tools_synced", `Tools of server \`${this.name}\`: ${summary}.`, {
      server: this.name,
      ...diff,
    });
  }

  async #note(type: string, summary: string, data: JsonObject): Promise<void> {
    try {
      await this.#options.note(type, summary, data);
    } catch {
      // Nothing can be recorded now. Calls are refused for that reason, and the connection stays open.
    }
  }
}

function ignored(): void {}
