import type { Clock, JsonObject } from "@postern/core";
import type { ConnectionOwner } from "../../connections/connection-repository.ts";
import type { LostAnswer } from "../../results/raw-result.ts";
import { signInNeededIn } from "../../tools/sign-in-needed.ts";
import { reasonOf } from "./sdk-faults.ts";
import {
  isWorthResending,
  notSentError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
} from "./upstream.ts";

/** A connection that no call used for this long is closed. */
const idleMs = 5 * 60_000;

export interface PersonalUpstreamsOptions {
  readonly clock: Clock;
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
    const ended: Promise<void> = open.connected
      .then((upstream) => upstream.close(), ignored)
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const key of [...this.#open.keys()]) this.forget(JSON.parse(key) as ConnectionOwner); // the keys are made above
    await Promise.all(this.#ending);
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
      return await upstream.callTool(tool, given, call);
    } finally {
      open.inFlight -= 1;
      if (open.inFlight === 0 && this.#open.get(JSON.stringify(owner)) === open)
        open.cancelIdle = this.#options.clock.in(idleMs, () => this.forget(owner), false);
    }
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
    const open: OpenUpstream = {
      connected: this.#connect(owner, () => this.#gone(key, open)),
      inFlight: 0,
      cancelIdle: ignored,
    };
    open.connected.catch(() => this.#gone(key, open)); // the calls that wait receive the rejection
    this.#open.set(key, open);
    return open;
  }

  async #connect(owner: ConnectionOwner, onClose: () => void): Promise<Upstream> {
    const upstream = await this.#options.open({ onClose, onToolsChanged: ignored }, owner);
    try {
      await upstream.connect();
      return upstream;
    } catch (error) {
      await upstream.close();
      throw error;
    }
  }

  #gone(key: string, open: OpenUpstream): void {
    if (this.#open.get(key) !== open) return;
    open.cancelIdle();
    this.#open.delete(key);
    open.connected.then((upstream) => void upstream.close(), ignored);
  }
}

function ignored(): void {}
