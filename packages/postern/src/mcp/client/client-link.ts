import type { Client, PriorDiscovery, StreamableHTTPClientTransport, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "@postern/core";
import { pageType } from "../../tools/ui.ts";
import { IncomingMessages } from "./incoming-messages.ts";
import type { ProcessTransport } from "./process-transport.ts";
import { priorOf, type Revision, type SpokenRevision, versionsOf } from "./revision.ts";
import { reasonOf, statusOf, wasReached } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-config.ts";
import type { ToolList } from "./tool-list.ts";

/** MCP Apps: a server lists the pages of its tools only to a client that declares this extension. */
const uiExtension = "io.modelcontextprotocol/ui";
const probeTimeoutMs = 10_000;
/** A list with more pages than this never ends. */
const mostPages = 10_000;

export interface LinkOptions {
  readonly clock: Clock;
  readonly name: string;
  readonly spoken: SpokenRevision;
  readonly revision: Revision | undefined;
  readonly startTimeoutMs: number;
  /** The most bytes of one message. */
  readonly limitBytes: number;
  readonly tools: ToolList;
  readonly onClose: (why: string) => void;
  readonly onToolsChanged: () => void;
}

export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly revision: string;
}

/** The SDK's client and its transport: makes a connection and finds out the revision that both sides speak. */
export class ClientLink {
  readonly #address: ServerAddress;
  readonly #options: LinkOptions;
  readonly #aborted = new AbortController();
  #client: Client | undefined;
  #process: ProcessTransport | undefined;
  #http: StreamableHTTPClientTransport | undefined;
  #incoming: IncomingMessages | undefined;
  #waitUntil: number | undefined;

  constructor(address: ServerAddress, options: LinkOptions) {
    this.#address = address;
    this.#options = options;
  }

  get client(): Client | undefined {
    return this.#client;
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

  get declaresTools(): boolean {
    return this.#incoming?.declaresTools !== false;
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

  async close(): Promise<void> {
    await this.#client?.close().catch(ignored);
    await this.#process?.close();
  }

  async #negotiated(): Promise<ServerFacts> {
    const { spoken } = this.#options;
    if (this.#address.kind === "stdio") return this.#newestFirst();
    const [first, other] = transportsOf(this.#address, spoken.speaksSse);
    const by = (transport: HttpTransport): Promise<ServerFacts> =>
      transport === "sse" ? this.#attach({ kind: "legacy" }, ignored, transport) : this.#newestFirst();
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
   * connected again as a server of 2025. A server whose revision is configured is not asked.
   */
  async #newestFirst(): Promise<ServerFacts> {
    const { spoken, clock, revision } = this.#options;
    const prior = priorOf(revision) ?? spoken.recall(clock);
    let isInitialized = false;
    const onInitialize = (): void => {
      isInitialized = true;
    };
    try {
      return await this.#attach(prior, onInitialize);
    } catch (error) {
      const late = this.#incoming?.discovered;
      if (late === undefined) this.forgetRevision();
      else spoken.keep({ kind: "modern", discover: late } as unknown as PriorDiscovery, clock); // the SDK checks it
      const mayBeOld = prior === undefined && !isInitialized && wasReached(error) && !this.#aborted.signal.aborted;
      if (!mayBeOld || this.#waitUntil !== undefined) throw error;
      await this.close();
      return await this.#attach({ kind: "legacy" }, onInitialize);
    }
  }

  async #attach(
    prior: PriorDiscovery | undefined,
    onInitialize: () => void,
    over: HttpTransport = "http",
  ): Promise<ServerFacts> {
    const { clock, spoken, startTimeoutMs, onClose } = this.#options;
    const { signal } = this.#aborted;
    signal.throwIfAborted();
    const client = await this.#newClient();
    this.#client = client;
    const transport = watchInitialize(await this.#transport(over), onInitialize);
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const connecting = client.connect(transport, {
        timeout: startTimeoutMs,
        signal,
        ...(prior !== undefined && { prior }),
      });
      await Promise.race([connecting, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      aborted.promise.catch(ignored);
    }
    client.onclose = () => onClose(`the connection closed${this.#lastError()}`);
    const discover = client.getDiscoverResult();
    spoken.keep(discover === undefined ? { kind: "legacy" } : { kind: "modern", discover }, clock);
    this.#listen(client);
    const { name = "", version = "" } = client.getServerVersion() ?? {};
    return { name, version, revision: client.getNegotiatedProtocolVersion() ?? "" };
  }

  async #newClient(): Promise<Client> {
    const sdk = await import("@modelcontextprotocol/client");
    const versions = versionsOf(this.#options.revision);
    const timeoutMs = Math.min(probeTimeoutMs, this.#options.startTimeoutMs / 2);
    return new sdk.Client(
      { name: "postern", version: "1" },
      {
        capabilities: { extensions: { [uiExtension]: { mimeTypes: [pageType] } } },
        versionNegotiation: { mode: "auto", probe: { timeoutMs } },
        ...(versions !== undefined && { supportedProtocolVersions: versions }),
        listMaxPages: mostPages,
        inputRequired: { autoFulfill: false },
        // Without a validator, because the SDK would throw away a result that does not fit its schema.
        jsonSchemaValidator: { getValidator: () => undefined as never },
      },
    );
  }

  async #transport(over: HttpTransport): Promise<Transport> {
    const { clock, limitBytes, tools, onToolsChanged } = this.#options;
    const incoming = new IncomingMessages(clock, tools, onToolsChanged);
    this.#incoming = incoming;
    if (this.#address.kind === "stdio") {
      const { ProcessTransport } = await import("./process-transport.ts");
      this.#process = new ProcessTransport(this.#address, { incoming, clock, limitBytes });
      return this.#process;
    }
    if (over === "sse") {
      const { sseTransport } = await import("./sse-transport.ts");
      return sseTransport(this.#address, { incoming, clock, limitBytes });
    }
    const [{ StreamableHTTPClientTransport }, { boundedFetch }] = await Promise.all([
      import("@modelcontextprotocol/client"),
      import("./http-fetch.ts"),
    ]);
    const { url, headers, authorize = unchanged } = this.#address;
    const onWait = (until: number): void => {
      this.#waitUntil = until;
    };
    const fetch = authorize(boundedFetch({ incoming, clock, limitBytes, onWait }), url.origin);
    this.#http = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } });
    return this.#http;
  }

  /** A server of 2026 reports changes of its tools only to clients that asked for it. */
  #listen(client: Client): void {
    if (client.getProtocolEra() !== "modern" || client.getServerCapabilities()?.tools?.listChanged !== true) return;
    client.listen({ toolsListChanged: true }, { timeout: this.#options.startTimeoutMs }).catch(ignored);
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

/** Calls `onInitialize` when `initialize` is sent: from then on the server counts as one of 2025. */
function watchInitialize(transport: Transport, onInitialize: () => void): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message && message.method === "initialize") onInitialize();
    return send(message, options);
  };
  return transport;
}

function unchanged(send: typeof fetch): typeof fetch {
  return send;
}

/** Closing something that has already ended may fail. */
function ignored(): void {}
