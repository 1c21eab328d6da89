import type { Client, PriorDiscovery, StreamableHTTPClientTransport, Transport } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import { pageType } from "../../tools/ui.ts";
import { priorOf, type Revision, versionsOf } from "./negotiation.ts";
import type { ProcessTransport } from "./process-transport.ts";
import { reasonOf, statusOf, wasReached } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-config.ts";
import { ServerWire } from "./server-wire.ts";
import type { SpokenProtocol } from "./verdict.ts";

/** MCP Apps: a server may list the pages of its tools only to a client that declares this extension. */
const uiExtension = "io.modelcontextprotocol/ui";
const probeTimeoutMs = 10_000;
/** A list with more pages than this never ends. */
const mostPages = 10_000;

export interface LinkParts {
  readonly clock: Clock;
  readonly name: string;
  readonly verdict: SpokenProtocol;
  readonly revision: Revision | undefined;
  readonly startTimeoutMs: number;
  /** What one message may have. */
  readonly limitBytes: number;
  /** Looks at what the SDK reads. */
  readonly watch: (transport: Transport) => Transport;
  readonly onClose: (why: string) => void;
  readonly onToolsChanged: () => void;
}

export interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly revision: string;
}

/** The SDK's client and its transport: from nothing to a connection whose revision both sides know. */
export class ClientLink {
  readonly #address: ServerAddress;
  readonly #parts: LinkParts;
  readonly #aborted = new AbortController();
  #client: Client | undefined;
  #process: ProcessTransport | undefined;
  #http: StreamableHTTPClientTransport | undefined;
  #wire: ServerWire | undefined;
  #waitUntil: number | undefined;

  constructor(address: ServerAddress, parts: LinkParts) {
    this.#address = address;
    this.#parts = parts;
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
    return this.#wire?.declaresTools !== false;
  }

  /** @throws Error that says why, and what the server last wrote to its error stream */
  async connect(): Promise<ServerFacts> {
    const { clock, startTimeoutMs, name } = this.#parts;
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
      const fault = new Error(`${reasonOf(reason)}${this.#said()}`, { cause: error });
      throw fault;
    } finally {
      cancelWait();
    }
  }

  /** A connection that is being made ends at once. */
  abort(): void {
    this.#aborted.abort(new Error("The connection is closed."));
  }

  forgetVerdict(): void {
    this.#parts.verdict.keep(undefined, this.#parts.clock);
  }

  async endSession(): Promise<void> {
    await this.#http?.terminateSession().catch(ignored);
  }

  async close(): Promise<void> {
    await this.#client?.close().catch(ignored);
    await this.#process?.close();
  }

  async #negotiated(): Promise<ServerFacts> {
    const { verdict } = this.#parts;
    if (this.#address.kind === "stdio") return this.#newestFirst();
    const [first, other] = transportsOf(this.#address, verdict.speaksSse);
    const by = (transport: HttpTransport): Promise<ServerFacts> =>
      transport === "sse" ? this.#attach({ kind: "legacy" }, ignored, transport) : this.#newestFirst();
    try {
      const facts = await by(first);
      verdict.speaksSse = first === "sse";
      return facts;
    } catch (error) {
      if (other === undefined || this.#aborted.signal.aborted || !mayTake(other, error)) throw error;
      await this.close();
      const facts = await by(other).catch((second: unknown) => {
        const said = `${reasonOf(error)}; over ${namesOf[other]}: ${reasonOf(second)}`;
        throw new Error(said, { cause: error });
      });
      verdict.speaksSse = other === "sse";
      return facts;
    }
  }

  /**
   * A server of 2025 may answer the question for its revision with anything: 401, an empty page, silence, its end. Then
   * it is asked once more as such a server expects it. What the configuration says is not asked.
   */
  async #newestFirst(): Promise<ServerFacts> {
    const { verdict, clock, revision } = this.#parts;
    const prior = priorOf(revision) ?? verdict.recall(clock);
    let isInitialized = false;
    const onInitialize = (): void => {
      isInitialized = true;
    };
    try {
      return await this.#attach(prior, onInitialize);
    } catch (error) {
      const late = this.#wire?.discovered;
      if (late === undefined) this.forgetVerdict();
      else verdict.keep({ kind: "modern", discover: late } as unknown as PriorDiscovery, clock); // the SDK checks it
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
    const { clock, verdict, startTimeoutMs, onClose, watch } = this.#parts;
    const { signal } = this.#aborted;
    signal.throwIfAborted();
    const client = await this.#newClient();
    this.#client = client;
    const transport = watch(telling(await this.#transport(over), onInitialize));
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
    client.onclose = () => onClose(`the connection closed${this.#said()}`);
    const discover = client.getDiscoverResult();
    verdict.keep(discover === undefined ? { kind: "legacy" } : { kind: "modern", discover }, clock);
    this.#listen(client);
    const { name = "", version = "" } = client.getServerVersion() ?? {};
    return { name, version, revision: client.getNegotiatedProtocolVersion() ?? "" };
  }

  async #newClient(): Promise<Client> {
    const sdk = await import("@modelcontextprotocol/client");
    const versions = versionsOf(this.#parts.revision);
    const timeoutMs = Math.min(probeTimeoutMs, this.#parts.startTimeoutMs / 2);
    return new sdk.Client(
      { name: "postern", version: "1" },
      {
        capabilities: { extensions: { [uiExtension]: { mimeTypes: [pageType] } } },
        versionNegotiation: { mode: "auto", probe: { timeoutMs } },
        ...(versions !== undefined && { supportedProtocolVersions: versions }),
        listMaxPages: mostPages,
        inputRequired: { autoFulfill: false },
        // No validator: a result that does not fit its schema is a result all the same, and the SDK would throw it away.
        jsonSchemaValidator: { getValidator: () => undefined as never },
      },
    );
  }

  async #transport(over: HttpTransport): Promise<Transport> {
    const { clock, limitBytes, onToolsChanged } = this.#parts;
    const wire = new ServerWire(clock, onToolsChanged);
    this.#wire = wire;
    if (this.#address.kind === "stdio") {
      const { ProcessTransport } = await import("./process-transport.ts");
      this.#process = new ProcessTransport(this.#address, { wire, clock, limitBytes });
      return this.#process;
    }
    if (over === "sse") {
      const { sseTransport } = await import("./sse-transport.ts");
      return sseTransport(this.#address, { wire, clock, limitBytes });
    }
    const [{ StreamableHTTPClientTransport }, { watchedFetch }] = await Promise.all([
      import("@modelcontextprotocol/client"),
      import("./watched-fetch.ts"),
    ]);
    const { url, headers } = this.#address;
    const onWait = (until: number): void => {
      this.#waitUntil = until;
    };
    const fetch = watchedFetch({ wire, clock, limitBytes, onWait });
    this.#http = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } });
    return this.#http;
  }

  /** A server of 2026 tells of its tools only who asked for that. */
  #listen(client: Client): void {
    if (client.getProtocolEra() !== "modern" || client.getServerCapabilities()?.tools?.listChanged !== true) return;
    client.listen({ toolsListChanged: true }, { timeout: this.#parts.startTimeoutMs }).catch(ignored);
  }

  /** What the server last wrote to its error stream, when it is worth telling. */
  #said(): string {
    const line = this.#process?.lastWords.trim().split("\n").at(-1)?.trim().slice(0, 300);
    return line === undefined || line === "" ? "" : ` (it last said: ${line})`;
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

/** Tells when `initialize` is sent: from then on the server is taken for one of 2025. */
function telling(transport: Transport, onInitialize: () => void): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ("method" in message && message.method === "initialize") onInitialize();
    return send(message, options);
  };
  return transport;
}

/** What is over needs no end. */
function ignored(): void {}
