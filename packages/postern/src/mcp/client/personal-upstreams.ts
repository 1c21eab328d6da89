import type { Clock, JsonObject } from "@postern/core";
import type { ConnectionOwner } from "../../connections/connection-repository.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { signInNeededIn } from "../../tools/sign-in-needed.ts";
import { ResourceSubscriptions } from "./resource-subscriptions.ts";
import { reasonOf } from "./sdk-faults.ts";
import {
  isWorthResending,
  type NoticeReceiver,
  notSentError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
} from "./upstream.ts";

/** A connection that no call used for this long is closed. */
const idleMs = 5 * 60_000;
const reopenMs = 10_000;

export interface PersonalUpstreamsOptions {
  readonly clock: Clock;
  readonly redact: (params: JsonObject) => JsonObject;
  readonly open: (events: UpstreamEvents, owner: ConnectionOwner) => Promise<Upstream>;
}

interface OpenUpstream {
  readonly connected: Promise<Upstream>;
  inFlight: number;
  cancelIdle: () => void;
}

/**
 * The connections of one server for each person: opened by the first call, closed when they are idle. Tools are not listed
 * here: the definitions of the shared connection hold for every person.
 */
export class PersonalUpstreams {
  readonly #server: string;
  readonly #options: PersonalUpstreamsOptions;
  readonly #open = new Map<string, OpenUpstream>();
  readonly #followed = new Map<string, ResourceSubscriptions>();
  /** They are being connected, which may take long. */
  readonly #opening = new Set<Upstream>();
  readonly #ending = new Set<Promise<void>>();
  #closed = false;

  constructor(server: string, options: PersonalUpstreamsOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** A call that certainly did not run, because the connection or its session was lost, is sent once more on a new one. */
  async call(
    owner: ConnectionOwner,
    tool: string,
    given: JsonObject,
    call: UpstreamCall,
  ): Promise<UpstreamAnswer | LostAnswer> {
    try {
      return await this.#send(owner, tool, given, call);
    } catch (error) {
      if (!isWorthResending(error) || call.signal.aborted || this.#closed) throw error;
      this.forget(owner);
      return this.#send(owner, tool, given, call);
    }
  }

  /** Closes the connection of a person whose sign-in changed. Calls under way end by themselves. */
  forget(owner: ConnectionOwner): void {
    const key = JSON.stringify(owner);
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open === undefined) return;
    open.cancelIdle();
    if (this.#isFollowed(key)) this.#openLater(owner);
    const ended: Promise<void> = open.connected
      .then((upstream) => upstream.close(), ignored)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  forgetAll(): void {
    for (const key of [...this.#open.keys()]) this.forget(JSON.parse(key) as ConnectionOwner); // the keys are made above
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const followed of [...this.#followed.values()]) followed.close();
    this.forgetAll();
    await Promise.all([...this.#ending, ...[...this.#opening].map((upstream) => upstream.close())]);
  }

  async #send(
    owner: ConnectionOwner,
    tool: string,
    given: JsonObject,
    call: UpstreamCall,
  ): Promise<UpstreamAnswer | LostAnswer> {
    if (this.#closed) throw notSentError(`Tool \`${tool}\`: its server \`${this.#server}\` is not connected.`);
    const open = this.#opened(owner);
    open.inFlight += 1;
    open.cancelIdle();
    try {
      const upstream = await this.#connected(tool, open);
      return await this.#subscriptionsOf(owner).run(upstream, tool, given, call);
    } finally {
      open.inFlight -= 1;
      this.#rest(owner, open);
    }
  }

  /** A connection that nothing uses is closed after a while. */
  #rest(owner: ConnectionOwner, open: OpenUpstream): void {
    const key = JSON.stringify(owner);
    if (open.inFlight > 0 || this.#open.get(key) !== open || this.#isFollowed(key)) return;
    open.cancelIdle();
    open.cancelIdle = this.#options.clock.in(idleMs, () => this.forget(owner), false);
  }

  /** What the clients of one person follow: updates reach only them. */
  #subscriptionsOf(owner: ConnectionOwner): ResourceSubscriptions {
    const key = JSON.stringify(owner);
    const { clock, redact } = this.#options;
    const onEmpty = (): void => {
      const open = this.#open.get(key);
      if (open !== undefined) this.#rest(owner, open);
    };
    const followed = this.#followed.get(key) ?? new ResourceSubscriptions(this.#server, { clock, redact, onEmpty });
    this.#followed.set(key, followed);
    return followed;
  }

  #isFollowed(key: string): boolean {
    return (this.#followed.get(key)?.size ?? 0) > 0;
  }

  async #connected(tool: string, { connected }: OpenUpstream): Promise<Upstream> {
    try {
      return await connected;
    } catch (error) {
      const needed = signInNeededIn(error);
      if (needed !== undefined) throw needed;
      const why = `Tool \`${tool}\`: its server \`${this.#server}\` could not be reached: ${reasonOf(error)}.`;
      throw Object.assign(new Error(why, { cause: error }), { notExecuted: true });
    }
  }

  #opened(owner: ConnectionOwner): OpenUpstream {
    const key = JSON.stringify(owner);
    const found = this.#open.get(key);
    if (found !== undefined) return found;
    const onGone = (): void => {
      if (this.#open.get(key) !== open) return;
      this.#gone(key, open);
      if (this.#isFollowed(key)) this.#openLater(owner);
    };
    const open: OpenUpstream = {
      connected: this.#connect(owner, onGone),
      inFlight: 0,
      cancelIdle: ignored,
    };
    open.connected.catch((error: unknown) => {
      if (signInNeededIn(error) === undefined) onGone();
      else this.#gone(key, open);
    }); // the calls that wait receive the rejection
    this.#open.set(key, open);
    return open;
  }

  async #connect(owner: ConnectionOwner, onClose: () => void): Promise<Upstream> {
    const followed = this.#subscriptionsOf(owner);
    const notices: NoticeReceiver = {
      get wantsUpdates() {
        return followed.size > 0;
      },
      wantsMessages: false,
      receive: (notice) => {
        if (notice.kind === "updated") followed.updated(notice.params);
      },
    };
    const upstream = await this.#options.open({ onClose, onToolsChanged: ignored, notices }, owner);
    this.#opening.add(upstream);
    try {
      if (this.#closed) throw new Error("closed");
      await upstream.connect();
      followed.connected(upstream);
      return upstream;
    } catch (error) {
      await upstream.close();
      throw error;
    } finally {
      this.#opening.delete(upstream);
    }
  }

  /** What a person's clients follow is followed again, also without a call. */
  #openLater(owner: ConnectionOwner): void {
    this.#options.clock.in(
      reopenMs,
      () => {
        if (!this.#closed && this.#isFollowed(JSON.stringify(owner))) this.#opened(owner);
      },
      false,
    );
  }

  #gone(key: string, open: OpenUpstream): void {
    if (this.#open.get(key) !== open) return;
    open.cancelIdle();
    this.#open.delete(key);
    open.connected.then((upstream) => void upstream.close(), ignored);
  }
}

function ignored(): void {}
