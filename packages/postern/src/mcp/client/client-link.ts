import type { StreamableHTTPClientTransport, Transport } from "@modelcontextprotocol/client";
import { type Clock, isJsonObject } from "@postern/core";
import { newest } from "../protocol/revisions.ts";
import { PendingRequests } from "./exchange.ts";
import { IncomingMessages } from "./incoming-messages.ts";
import { listening } from "./listening.ts";
import type { ProcessTransport } from "./process-transport.ts";
import type { Askable } from "./questions.ts";
import { configuredAs, type KnownServer, type Revision, type SpokenRevision } from "./revision.ts";
import { reasonOf, statusOf, wasReached } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-address.ts";
import { ServerPeer } from "./server-peer.ts";
import type { UpstreamEvents } from "./upstream.ts";

const probeTimeoutMs = 10_000;

export interface LinkOptions {
  readonly clock: Clock;
  readonly name: string;
  readonly spoken: SpokenRevision;
  readonly revision: Revision | undefined;
  readonly startTimeoutMs: number;
  /** The most bytes of one message. */
  readonly limitBytes: number;
  readonly mayAsk: readonly Askable[];
  readonly events: UpstreamEvents;
}

export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly revision: string;
}

/** Makes a connection over the transport that a server speaks, and finds out the revision that both sides speak. */
export class ClientLink {
  readonly #address: ServerAddress;
  readonly #options: LinkOptions;
  readonly #aborted = new AbortController();
  readonly #ended = new AbortController();
  #peer: ServerPeer | undefined;
  #process: ProcessTransport | undefined;
  #http: StreamableHTTPClientTransport | undefined;
  #waitUntil: number | undefined;

  constructor(address: ServerAddress, options: LinkOptions) {
    this.#address = address;
    this.#options = options;
  }

  get peer(): ServerPeer | undefined {
    return this.#peer;
  }

  get processId(): number | undefined {
    return this.#process?.pid;
  }

  get waitUntil(): number | undefined {
    return this.#waitUntil;
  }

  get hasSession(): boolean {
    return this.#http?.sessionId !== undefined;
  }

  /** @throws Error that says why, and what the server last wrote to its error stream */
  async connect(): Promise<ServerFacts> {
    const { clock, startTimeoutMs, name } = this.#options;
    const cancelWait = clock.in(startTimeoutMs, () =>
      this.#aborted.abort(
        new Error(
          `It did not start within ${startTimeoutMs} ms. Give a server that needs longer more time with \`servers.${name}.start_timeout_ms\`.`,
        ),
      ),
    );
    try {
      return await this.#negotiated();
    } catch (error) {
      const reason: unknown = this.#aborted.signal.aborted ? this.#aborted.signal.reason : error;
      const fault = new Error(`${reasonOf(reason)}${this.#lastError()}`, { cause: error });
      throw fault;
    } finally {
      cancelWait();
    }
  }

  /** Ends a connection attempt at once. */
  abort(): void {
    this.#aborted.abort(new Error("The connection is closed."));
  }

  forgetRevision(): void {
    this.#options.spoken.keep(undefined, this.#options.clock);
  }

  async endSession(): Promise<void> {
    await this.#http?.terminateSession().catch(ignored);
  }

  /** No stream of changes is opened any more. */
  leave(): void {
    this.#ended.abort(new Error("The connection is closed."));
  }

  async close(): Promise<void> {
    await this.#peer?.close().catch(ignored);
    await this.#process?.close();
  }

  async #negotiated(): Promise<ServerFacts> {
    const { spoken } = this.#options;
    if (this.#address.kind === "stdio") return this.#newestFirst();
    const [first, other] = transportsOf(this.#address, spoken.speaksSse);
    const by = (transport: HttpTransport): Promise<ServerFacts> =>
      transport === "sse" ? this.#attach({ isOld: true }, transport) : this.#newestFirst();
    try {
      const facts = await by(first);
      spoken.speaksSse = first === "sse";
      return facts;
    } catch (error) {
      if (other === undefined || this.#aborted.signal.aborted || !mayTake(other, error)) throw error;
      await this.close();
      const facts = await by(other).catch((second: unknown) => {
        const message = `${reasonOf(error)}; over ${namesOf[other]}: ${reasonOf(second)}`;
        throw new Error(message, { cause: error });
      });
      spoken.speaksSse = other === "sse";
      return facts;
    }
  }

  /**
   * A server of 2025 may answer the question for its revision with a 401, an empty page or silence, or may exit. It is then
   * connected again as a server of 2025. A server that is configured to speak 2025 is not asked.
   */
  async #newestFirst(): Promise<ServerFacts> {
    const { spoken, clock, revision } = this.#options;
    const known = configuredAs(revision) ?? spoken.recall(clock);
    try {
      return await this.#attach(known);
    } catch (error) {
      const late = this.#peer?.discovered;
      if (late === undefined) this.forgetRevision();
      else spoken.keep({ isOld: false, discovered: late }, clock);
      const mayBeOld =
        known === undefined &&
        revision !== newest &&
        this.#peer?.beganOld !== true &&
        wasReached(error) &&
        !this.#aborted.signal.aborted;
      if (!mayBeOld || this.#waitUntil !== undefined) throw error;
      await this.close();
      return await this.#attach({ isOld: true });
    }
  }

  async #attach(known: KnownServer | undefined, over: HttpTransport = "http"): Promise<ServerFacts> {
    const { clock, spoken, startTimeoutMs, events, revision, name, mayAsk } = this.#options;
    const { signal } = this.#aborted;
    signal.throwIfAborted();
    const pending = new PendingRequests();
    const peer = new ServerPeer(await this.#transport(over, pending), {
      ...{ clock, pending, signal, offered: revision, timeoutMs: startTimeoutMs },
      ...{ server: name, mayAsk },
      probeTimeoutMs: Math.min(probeTimeoutMs, startTimeoutMs / 2),
    });
    this.#peer = peer;
    spoken.keep(await unlessAborted(peer.connect(known), signal), clock);
    peer.onclose = () => events.onClose(`the connection closed${this.#lastError()}`);
    this.#listen(peer);
    const { name: stated, version } = peer.info;
    return { name: String(stated ?? ""), version: String(version ?? ""), revision: peer.revision };
  }

  async #transport(over: HttpTransport, pending: PendingRequests): Promise<Transport> {
    const { clock, limitBytes, events } = this.#options;
    const incoming = new IncomingMessages(clock, events);
    if (this.#address.kind === "stdio") {
      const { ProcessTransport } = await import("./process-transport.ts");
      this.#process = new ProcessTransport(this.#address, { incoming, pending, clock, limitBytes });
      return this.#process;
    }
    if (over === "sse") {
      const { sseTransport } = await import("./sse-transport.ts");
      return sseTransport(this.#address, { incoming, pending, clock, limitBytes });
    }
    const [{ StreamableHTTPClientTransport }, { boundedFetch }] = await Promise.all([
      import("@modelcontextprotocol/client"),
      import("./http-fetch.ts"),
    ]);
    const { url, headers, authorize = unchanged } = this.#address;
    const onWait = (until: number): void => {
      this.#waitUntil = until;
    };
    const fetch = authorize(boundedFetch({ incoming, pending, clock, limitBytes, onWait }), url.origin);
    this.#http = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } });
    return this.#http;
  }

  /** A server of 2026 reports changes of its lists only to clients that asked for it. */
  #listen(peer: ServerPeer): void {
    const { notices, onToolsChanged } = this.#options.events;
    const lists = ["tools", ...(notices === undefined ? [] : ["prompts", "resources"])].filter((list) => {
      const declared = peer.capabilities[list];
      return isJsonObject(declared) && declared["listChanged"] === true;
    });
    if (peer.isOld || lists.length === 0) return;
    const wanted = Object.fromEntries(lists.map((list) => [`${list}ListChanged`, true]));
    const onMissed = (): void => {
      onToolsChanged();
      for (const list of ["prompts", "resources"] as const) notices?.receive({ kind: "list", list });
    };
    listening(peer, wanted, { signal: this.#ended.signal, clock: this.#options.clock, onMissed }).catch(ignored);
  }

  /** Resolves when a server of 2026 tells of changes of this resource, until `signal` is aborted. */
  async follow(peer: ServerPeer, uri: string, signal: AbortSignal, onMissed: () => void): Promise<void> {
    const wanted = { resourceSubscriptions: [uri] };
    const { clock } = this.#options;
    const honored = await listening(peer, wanted, {
      signal: AbortSignal.any([signal, this.#ended.signal]),
      clock,
      onMissed,
    });
    const uris = honored["resourceSubscriptions"];
    if (!Array.isArray(uris) || !uris.includes(uri)) throw new Error("its server does not tell of changes of it");
  }

  /** The last line that the server wrote to its error stream, for a message. */
  #lastError(): string {
    const line = this.#process?.lastWords.trim().split("\n").at(-1)?.trim().slice(0, 300);
    return line === undefined || line === "" ? "" : ` (its last output: ${line})`;
  }
}

type HttpTransport = "http" | "sse";

const namesOf = { http: "Streamable HTTP", sse: "HTTP+SSE" } as const;

/** The transports to try, in their order. */
function transportsOf(
  { transport, url }: Extract<ServerAddress, { readonly kind: "http" }>,
  spokeSse: boolean,
): readonly [HttpTransport, HttpTransport?] {
  if (transport !== undefined) return [transport];
  return spokeSse || /\/sse\/?$/.test(url.pathname) ? ["sse", "http"] : ["http", "sse"];
}

/** A server of 2024 answers `initialize` by POST with one of these (MCP 2025-11-25, Backwards Compatibility). */
const refusesPost: ReadonlySet<unknown> = new Set([400, 404, 405]);

function mayTake(other: HttpTransport, error: unknown): boolean {
  return other === "sse" ? refusesPost.has(statusOf(error)) : wasReached(error);
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    aborted.catch(ignored);
  }
}

function unchanged(send: typeof fetch): typeof fetch {
  return send;
}

/** Closing something that has already ended may fail. */
function ignored(): void {}
