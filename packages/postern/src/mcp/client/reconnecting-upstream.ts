import { type Clock, defined, messageOf } from "@postern/core";
import type { ConnectedServer } from "../../connections/connected-server.ts";
import type { ConnectionOwner } from "../../connections/connection-repository.ts";
import { signInNeededIn } from "../../tools/sign-in-needed.ts";
import type { ToolRegistrar } from "./server-collection.ts";
import { type ServerChange, ServerHistory } from "./server-history.ts";
import { ServerUse } from "./server-use.ts";
import { notSentError, type Upstream, type UpstreamEvents } from "./upstream.ts";

const firstDelayMs = 500;
const longestDelayMs = 30_000;
/** The longest wait that a server may ask for. */
const longestAskedMs = 3_600_000;
/** After a connection of this length, the next failure starts at the first delay again. */
const steadyMs = 30_000;
/** An attempt that fails so long after the first one says that the server does not come back by itself. */
const downAfterMs = 30_000;
/** A server behind a URL may be lost without a sign. That must be noticed within 30 s. */
const pingEveryMs = 20_000;

/** How the server is connected now. */
export interface UpstreamState {
  /** `idle`: it is started when a call needs it. */
  readonly status: "connected" | "connecting" | "disconnected" | "idle";
  /** Why it is not connected. */
  readonly problem?: string;
  readonly processId?: number;
  /** It is connected when a person has signed in there. */
  readonly signInNeeded?: true;
  /** How often it was connected again after it was lost. */
  readonly restarts: number;
  /** Old to new. */
  readonly changes: readonly ServerChange[];
}

export interface ReconnectingOptions {
  readonly registry: Pick<ToolRegistrar, "setServer" | "setIdle">;
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
}

/** What follows the connections of one server. */
export interface UpstreamFollower extends Omit<UpstreamEvents, "onClose"> {
  /** Runs before anything can be called. If it rejects, the connection counts as lost. */
  readonly prepare: (upstream: Upstream) => Promise<void>;
  /** Runs when the server can be called, before `start` resolves. */
  readonly connected: (upstream: Upstream, served: Awaited<ReturnType<Upstream["connect"]>>) => Promise<void>;
  /** Clients follow its resources, so they would miss changes while it is stopped. */
  readonly isFollowed: () => boolean;
  readonly stopped: () => void;
  readonly lost: (why: string) => void;
  /** It does not come back by itself. Called once, until it is connected again. */
  readonly down: (why: string) => void;
}

/**
 * One server that is connected again when it is lost, with growing delays between the attempts. If it may rest, it is stopped
 * when no call needed it for its time, and started by the next call.
 */
export class ReconnectingUpstream {
  readonly #name: string;
  readonly #isRemote: boolean;
  readonly #options: ReconnectingOptions;
  readonly #follower: UpstreamFollower;
  readonly use: ServerUse;
  readonly #history: ServerHistory;
  #upstream: Upstream | undefined;
  #opening: Upstream | undefined;
  #status: UpstreamState["status"] = "disconnected";
  #problem: string | undefined;
  #signInNeeded = false;
  #failures = 0;
  /** When the first of these failures was. */
  #failingSince = 0;
  #isDown = false;
  #since = 0;
  /** Its tools are known, so it need not run until a call needs it. */
  #canRest = false;
  #closed = false;
  #attempt: Promise<void> = Promise.resolve();
  /** The end of the previous connection. The next one waits for it. */
  #ending: Promise<void> = Promise.resolve();
  /** Whose sign-in this connection uses. */
  #owner: ConnectionOwner | undefined;
  #signInChanges = 0;
  #cancelWait: (() => void) | undefined;

  /** @param idleMs after which it is stopped; left out: it is not */
  constructor(
    server: { readonly name: string; readonly isRemote: boolean; readonly idleMs: number | undefined },
    options: ReconnectingOptions,
    follower: UpstreamFollower,
  ) {
    this.#name = server.name;
    this.#isRemote = server.isRemote;
    this.#options = options;
    this.#follower = follower;
    this.#history = new ServerHistory(options.clock);
    this.use = new ServerUse(options.clock, server.idleMs, () => this.#stop());
  }

  get state(): UpstreamState {
    return {
      status: this.#status,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...defined({ processId: this.#upstream?.processId }),
      ...(this.#signInNeeded && { signInNeeded: true }),
      restarts: this.#history.restarts,
      changes: this.#history.changes,
    };
  }

  /** The open connection. */
  get now(): Upstream | undefined {
    return this.#upstream;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get canRest(): boolean {
    return this.#canRest;
  }

  /** From now on a call starts it. */
  allowRest(): void {
    this.#canRest = true;
  }

  /** Does not connect it before a call needs it. */
  restFromStart(): void {
    if (this.#status === "disconnected") this.#rest();
  }

  /** Resolves after the first attempt, in success or failure. Further attempts follow in the background. */
  start(): Promise<void> {
    this.#attempt = this.#connect();
    return this.#attempt;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWait?.();
    this.use.end();
    // A call that waits for its start must not find it idle again.
    if (this.#status !== "connected") this.#options.registry.setServer(this.#name, "down", "it is closed");
    await Promise.all([this.#upstream?.close(), this.#opening?.close()]);
    await this.#attempt; // an open attempt sees `#closed` and closes its connection
    await this.#ending;
    this.#status = "disconnected";
  }

  /** Starts it, if it is idle. A call has waited for that before it was claimed; a preview and a list have not. */
  async started(what: string): Promise<Upstream> {
    if (this.#canRest && (this.#status === "idle" || this.#status === "connecting")) await this.reconnect();
    return this.#connected(what);
  }

  /** Closes what uses the old sign-in. A connection that waits for one is made now. */
  signInChanged(owner: ConnectionOwner): void {
    this.#signInChanges += 1;
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

  #connected(what: string): Upstream {
    if (this.#upstream !== undefined && this.#status === "connected") return this.#upstream;
    const why = this.#problem === undefined ? "" : `: ${this.#problem}`;
    throw notSentError(`Tool \`${what}\`: its server \`${this.#name}\` is not connected${why}.`);
  }

  /** Connects at once, without the delay, because a call waits. Calls that need it at the same time share the attempt. */
  async reconnect(): Promise<void> {
    if (this.#status === "connected" || this.#closed) return;
    if (this.#status !== "connecting") {
      this.#cancelWait?.();
      void this.start();
    }
    await this.#attempt;
  }

  /** Closes the open connection and connects at once. Resolves after the attempt. */
  async restart(): Promise<void> {
    if (this.#status === "connected") this.#lost("an operator reconnects it");
    await this.reconnect();
  }

  async #connect(): Promise<void> {
    this.#status = "connecting";
    let upstream: Upstream | undefined;
    let gone: string | undefined;
    await this.#ending;
    const changes = this.#signInChanges;
    this.#owner = this.#lister();
    const { onToolsChanged, notices, prepare, connected } = this.#follower;
    try {
      upstream = await this.#options.open(
        {
          onClose: (why) => {
            gone = why;
            if (upstream !== undefined && upstream === this.#upstream) this.#lost(why, upstream.waitUntil);
          },
          onToolsChanged,
          ...(notices && { notices }),
        },
        this.#owner,
      );
      this.#opening = upstream;
      if (this.#closed) throw new Error("closed");
      const served = await upstream.connect();
      await prepare(upstream);
      if (gone !== undefined) throw new Error(gone);
      if (this.#closed) return void (await upstream.close());
      this.#upstream = upstream;
      this.#up();
      await connected(upstream, served);
    } catch (error) {
      await upstream?.close();
      if (this.#closed) return;
      const needed = signInNeededIn(error);
      this.#signInNeeded = needed !== undefined;
      this.#lost(messageOf(needed ?? error), upstream?.waitUntil);
      if (needed !== undefined && changes === this.#signInChanges) this.#cancelWait?.(); // a sign-in starts the next attempt
    } finally {
      this.#opening = undefined;
    }
  }

  #up(): void {
    this.#status = "connected";
    this.#history.add("connected");
    this.#problem = undefined;
    this.#signInNeeded = false;
    this.#isDown = false;
    this.#since = this.#options.clock.monotonic();
    this.#options.registry.setServer(this.#name, "up");
    if (this.#isRemote) this.#pingLater();
    this.use.begin();
  }

  /** No call needed it for its time. */
  #stop(): void {
    if (this.#status !== "connected") return;
    if (this.#follower.isFollowed()) return void this.use.begin();
    this.#cancelWait?.();
    this.#ending = this.#upstream?.close() ?? this.#ending;
    this.#upstream = undefined;
    this.#rest();
    this.#follower.stopped();
  }

  #rest(): void {
    this.#status = "idle";
    this.#history.add("idle");
    this.#options.registry.setIdle(this.#name, () => this.reconnect());
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
    this.#history.add("disconnected", why);
    this.#problem = why;
    registry.setServer(this.#name, "down", why);
    if (wasUp && clock.monotonic() - this.#since >= steadyMs) this.#failures = 0;
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** this.#failures) * (0.75 + random() / 2);
    this.#failures += 1;
    if (this.#failures === 1) this.#failingSince = clock.monotonic();
    if (wasUp || this.#failures === 1) this.#follower.lost(why);
    else if (!this.#isDown && clock.monotonic() - this.#failingSince >= downAfterMs) {
      this.#isDown = true;
      this.#follower.down(why);
    }
    this.#cancelWait?.();
    this.use.end();
    const mayRest = (): boolean => this.#canRest && !this.#follower.isFollowed();
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
        if (!this.use.isInUse) this.#upstream?.ping().catch(ignored); // `onClose` reports it
        this.#pingLater();
      },
      false,
    );
  }
}

function ignored(): void {}
