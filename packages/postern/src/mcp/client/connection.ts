import { defined, type JsonObject, messageOf } from "@postern/core";
import { personOf } from "../../connections/connections.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { CallUpstream, ReadUi } from "./adapter.ts";
import type { TrustedDefinitions } from "./definition.ts";
import { CallLimits } from "./limits/call-limits.ts";
import type { SharedLimits } from "./limits/shared-limits.ts";
import type { ToolsPlace } from "./listed-tools.ts";
import { PersonalUpstreams } from "./personal-upstreams.ts";
import { type ClientRecord, recordedClient } from "./questions.ts";
import {
  type ReconnectingOptions,
  ReconnectingUpstream,
  type UpstreamFollower,
  type UpstreamState,
} from "./reconnecting-upstream.ts";
import { Relisting } from "./relisting.ts";
import { ServerTools, type ToolRegistrar, type ToolsDiff } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import { featuresIn } from "./server-features.ts";
import { ServerInstructions } from "./server-instructions.ts";
import { ServerNotices } from "./server-notices.ts";
import { ServerRequests } from "./server-requests.ts";
import { trustedPage, uiPageIn } from "./ui.ts";
import {
  isWorthResending,
  notSentError,
  type RefusedTool,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamList,
} from "./upstream.ts";

const defaultIdleStopMs = 300_000;

export type NoteEvent = (type: string, summary: string, data: JsonObject) => void | Promise<void>;

export interface ConnectionOptions extends ReconnectingOptions {
  readonly registry: ToolRegistrar;
  readonly pins: TrustedDefinitions;
  readonly note: NoteEvent;
  /** What gateways share of the limits. */
  readonly limits?: SharedLimits | undefined;
  /** Where its tools are offered. Default: among the tools of the configured servers. */
  readonly place?: ToolsPlace;
  /** Secrets of the server that the runtime does not know. */
  readonly known?: Iterable<string>;
}

export interface ServerStatus extends UpstreamState {
  readonly name: string;
  readonly tools: number;
  /** It is started when a call needs it. */
  readonly onDemand?: true;
  /** Tools that the server lists and that are not offered. */
  readonly refused: readonly RefusedTool[];
}

/** One server: its tools, which are kept up to date with each connection, and the calls of them. */
export class UpstreamConnection {
  readonly name: string;
  readonly #config: ServerConfig;
  readonly #options: ConnectionOptions;
  readonly #tools: ServerTools;
  readonly #limits: CallLimits;
  readonly #requests: ServerRequests;
  readonly #notices: ServerNotices;
  readonly #instructions: ServerInstructions;
  readonly #server: ReconnectingUpstream;
  /** The connections that calls use if each person has one. This one only lists then. */
  readonly #personal: PersonalUpstreams | undefined;
  readonly #relisting: Relisting;
  readonly #record: ClientRecord = {
    note: (type, summary, data) => this.#note(type, summary, redactJson(data, this.#options)),
    redact: (params) => redactJson(params, this.#options),
  };

  constructor(name: string, config: ServerConfig, options: ConnectionOptions) {
    this.name = name;
    this.#config = config;
    this.#options = options;
    this.#relisting = new Relisting(options.clock, () => this.#relist());
    this.#limits = new CallLimits(name, config.limits, options.clock, options.limits);
    const { registry, pins, clock, signIns, place, known } = options;
    const redact = <Value extends JsonObject>(value: Value): Value => redactJson(value, options);
    if (signIns?.isPersonal === true)
      this.#personal = new PersonalUpstreams(name, { clock, redact, open: options.open });
    signIns?.follow((owner) => {
      this.#personal?.forget(owner);
      this.#server.signInChanged(owner);
    });
    const readUi: ReadUi = async (tool, uri) => {
      const contents = await this.#server.use.during(async () => (await this.#server.started(uri)).readResource(uri));
      const page = uiPageIn(redactJson(contents, options), uri);
      return trustedPage(page, { server: name, tool, uri, strict: config.pin === "strict" }, pins);
    };
    const call: CallUpstream = (tool, given, context) =>
      this.#limits.run(tool, context, () =>
        this.#server.use.during(() => this.#call(tool, given, this.#recorded(tool, context))),
      );
    this.#instructions = new ServerInstructions(name, config, pins);
    this.#notices = new ServerNotices(name, { features: featuresIn(registry), clock, redact });
    const idleMs = config.start === "on_demand" ? (config.idleStopMs ?? defaultIdleStopMs) : undefined;
    const isRemote = config.command === undefined;
    this.#server = new ReconnectingUpstream({ name, isRemote, idleMs }, options, this.#follower(options.redact));
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
      else if (this.#server.canRest) await this.showPinned(); // approved before it was started
    });
  }

  get status(): ServerStatus {
    return {
      ...{ name: this.name, ...this.#server.state },
      tools: this.#tools.size,
      ...(this.#isOnDemand && { onDemand: true }),
      refused: [...this.#tools.refused, ...this.#requests.refused],
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
    this.#server.allowRest();
    this.#server.restFromStart();
  }

  get #isOnDemand(): boolean {
    return this.#config.start === "on_demand";
  }

  /** Resolves after the first attempt, in success or failure. Further attempts follow in the background. */
  start(): Promise<void> {
    return this.#server.start();
  }

  /** Closes the open connections and connects at once. Does nothing and returns false while calls run. */
  async reconnect(): Promise<boolean> {
    if (this.#server.use.isInUse && this.#server.state.status === "connected") return false;
    this.#personal?.forgetAll();
    await this.#server.restart();
    return true;
  }

  async close(): Promise<void> {
    this.#relisting.close();
    this.#notices.close();
    await Promise.all([this.#server.close(), this.#personal?.close()]);
  }

  /** A server that does not know the session did not run the call: it is connected again, and the call is sent again. */
  async #call(tool: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    if (this.#personal !== undefined) return this.#callFor(this.#personal, tool, given, call);
    const definition = this.#tools.digestOf(tool);
    const upstream = await this.#server.started(tool);
    if (definition !== undefined) this.#checkSame(tool, definition); // it may have been started for this call
    try {
      return await this.#notices.resources.run(upstream, tool, given, call);
    } catch (error) {
      if (!isWorthResending(error) || call.signal.aborted || this.#server.isClosed) throw error;
      await this.#server.reconnect();
      const next = this.#server.now;
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

  /** Secrets of the server may be in a name or a description. */
  async #listOf(method: string, member: string): Promise<readonly JsonObject[]> {
    const items = await this.#server.use.during(async () =>
      (await this.#server.started(method)).list?.(method, member),
    );
    return redactJson(items ?? [], this.#options);
  }

  #follower(redact: ConnectionOptions["redact"]): UpstreamFollower {
    const { name } = this;
    let diff: ToolsDiff | undefined;
    return {
      onToolsChanged: () => this.#relisting.changed(),
      notices: this.#notices,
      isFollowed: () => this.#notices.wantsUpdates,
      prepare: async (upstream) => {
        this.#relisting.reset();
        await this.#instructions.see(upstream.instructions && redact(upstream.instructions));
        // Before anything can be called, so that tools that changed in the meantime are blocked.
        diff = await this.#tools.sync(this.#masked(await upstream.listTools()));
      },
      connected: async (upstream, { name: program, version, revision }) => {
        this.#requests.follow(upstream);
        this.#notices.connected(upstream);
        await this.#remember(upstream);
        const serves = `${program} ${version}`.trim();
        await this.#note("mcp.connected", `Server \`${name}\` is connected.`, { server: name, revision, serves });
        if (diff !== undefined) await this.#synced(diff);
        if (this.#relisting.isStale) this.#relisting.changed();
      },
      stopped: () => {
        void this.#note("mcp.stopped", `Server \`${name}\` is stopped until a call needs it.`, { server: name });
      },
      lost: (problem) => {
        const summary = `Server \`${name}\` is not connected: ${problem}`;
        void this.#note("mcp.disconnected", summary, { server: name, problem });
      },
      down: (problem) => {
        const summary = `Server \`${name}\` is down and does not come back: ${problem}`;
        void this.#note("mcp.down", summary, { server: name, problem });
      },
    };
  }

  /** What is shown while it is not started. If it cannot be stored, the server is started for it at the next start. */
  async #remember({ capabilities = {} }: Upstream): Promise<void> {
    if (!this.#isOnDemand) return;
    this.#server.allowRest();
    const last = { tools: this.#tools.listed ?? [], capabilities: redactJson(capabilities, this.#options) };
    await this.#options.pins.servers.keepList(this.name, this.#config, last).catch(ignored);
  }

  /** A server knows the secrets that it was given, and may write them into a description. */
  #masked(list: UpstreamList): UpstreamList {
    return redactJson(list, this.#options);
  }

  async #relist(): Promise<boolean> {
    const upstream = this.#server.now;
    if (upstream === undefined) return false;
    try {
      const list = await this.#server.use.during(() => upstream.listTools());
      if (upstream !== this.#server.now) return true;
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
