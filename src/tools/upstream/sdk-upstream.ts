import { existsSync } from "node:fs";
import type { Client, Progress, Transport } from "@modelcontextprotocol/client";
import type { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../../calls/clock.ts";
import type { Json, JsonObject } from "../../calls/json.ts";
import { type LostAnswer, mostAnswerBytes } from "../../results/raw-result.ts";
import { heldIn } from "./held-content.ts";
import { callFault, isGone, reasonOf } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-config.ts";
import { ServerLines } from "./server-lines.ts";
import { Exchange, watchedFetch, within } from "./stream-watch.ts";
import { lostAnswer } from "./too-large.ts";
import { ToolList } from "./tool-list.ts";
import {
  notSent,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
  type UpstreamTool,
} from "./upstream.ts";
import type { Verdict } from "./verdict.ts";

/**
 * Ctrl-C in a terminal goes to a whole process group. A server must not hear it: its calls in flight are drained, and it is
 * ended afterwards. `setsid` becomes the server itself, so the process id is the server's own; where there is none
 * (outside Linux) such a call ends as unknown.
 */
const ownSession = ["/usr/bin/setsid", "/bin/setsid"].find((path) => existsSync(path));
/** The longest wait a timer can keep: the caller's signal is the only end of a call, the SDK's own 60 s are not. */
const neverMs = 2 ** 31 - 1;
const connectTimeoutMs = 60_000;
const probeTimeoutMs = 10_000;
const pingTimeoutMs = 8_000;
const endSessionMs = 2_000;
/** Calls under way at the end of an HTTP connection fail by themselves, and know better than we whether they were sent. */
const graceMs = 250;
/** An answer travels in a message. */
const envelopeBytes = 64 * 1024;

export interface SdkUpstreamParts {
  readonly events: UpstreamEvents;
  readonly verdict: Verdict;
  readonly clock: Clock;
  /** What one answer may have. */
  readonly answerBytes?: number | undefined;
}

/** The port through the official SDK, which is loaded when the first server is connected. */
export class SdkUpstream implements Upstream {
  readonly #address: ServerAddress;
  readonly #events: UpstreamEvents;
  readonly #verdict: Verdict;
  readonly #clock: Clock;
  /** Calls under way: how to break each off, and when it has ended by itself. */
  readonly #underWay = new Map<(why: string) => void, Promise<void>>();
  #client: Client | undefined;
  #stdio: StdioClientTransport | undefined;
  #endSession: (() => Promise<void>) | undefined;
  #lastWords = "";
  readonly #connecting = new AbortController();
  readonly #listed = new ToolList(() => this.#client?.getProtocolEra() === "legacy");
  readonly #answerBytes: number;
  #over = false;

  constructor(address: ServerAddress, { events, verdict, clock, answerBytes = mostAnswerBytes }: SdkUpstreamParts) {
    this.#address = address;
    this.#answerBytes = answerBytes;
    this.#events = events;
    this.#verdict = verdict;
    this.#clock = clock;
  }

  get processId(): number | undefined {
    return this.#stdio?.pid ?? undefined;
  }

  async connect(): Promise<{ readonly name: string; readonly version: string; readonly revision: string }> {
    const client = await newClient(this.#events);
    this.#client = client;
    const transport = this.#listed.watch(await this.#transport());
    const prior = this.#verdict.recall(this.#clock);
    try {
      await client.connect(transport, {
        timeout: connectTimeoutMs,
        signal: this.#connecting.signal,
        ...(prior !== undefined && { prior }),
      });
    } catch (error) {
      this.#verdict.keep(undefined, this.#clock);
      throw new Error(`${reasonOf(error)}${this.#said()}`, { cause: error });
    }
    client.onclose = () => this.#gone(`the connection closed${this.#said()}`);
    const discover = client.getDiscoverResult();
    this.#verdict.keep(discover === undefined ? { kind: "legacy" } : { kind: "modern", discover }, this.#clock);
    const { name = "", version = "" } = client.getServerVersion() ?? {};
    return { name, version, revision: client.getNegotiatedProtocolVersion() ?? "" };
  }

  async listTools(): Promise<UpstreamList> {
    this.#listed.begin();
    const listing = this.#connected("tools/list").listTools(undefined, {
      cacheMode: "refresh",
      timeout: connectTimeoutMs,
    });
    const { tools } = await listing.catch((error: unknown) => {
      this.#verdict.keep(undefined, this.#clock); // a server taken for a new one is first heard here
      throw error;
    });
    return { tools: tools as readonly UpstreamTool[], malformed: this.#listed.malformed }; // the SDK checked each against the protocol's schema
  }

  async callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    const client = this.#connected(name);
    if (call.signal.aborted)
      throw notSent(`Tool \`${name}\`: the call was over before anything was sent.`, call.signal.reason);
    const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
    const exchange = new Exchange(
      this.#clock,
      () => void this.ping().catch(ignored),
      () => breakOff(new Error("the answer's stream broke off")),
    );
    const onGone = (why: string): void => breakOff(new Error(why));
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#underWay.set(onGone, ended);
    const params = { name, arguments: given, _meta: { "postern/idempotency-key": call.idempotencyKey } };
    const onprogress = (at: Progress): void => tell(at, call);
    try {
      const answer = within(exchange, () =>
        client.callTool(params, { signal: call.signal, timeout: neverMs, onprogress }),
      );
      const result = await Promise.race([answer, broken]);
      const { content = [], structuredContent, isError = false } = result;
      const structured = heldIn(result) ?? exchange.held ?? (structuredContent as Json | undefined); // it was read from JSON
      return { content, isError, ...(structured !== undefined && { structured }) };
    } catch (error) {
      const lost = lostAnswer(error, exchange.tooLarge, this.#answerBytes);
      if (lost !== undefined) return lost;
      if (isGone(error)) this.#gone(reasonOf(error));
      throw callFault(name, error, this.#address.kind === "stdio" || exchange.sent);
    } finally {
      this.#underWay.delete(onGone);
      exchange.end();
      end();
    }
  }

  async ping(): Promise<void> {
    const client = this.#connected("ping");
    try {
      await (client.getProtocolEra() === "modern"
        ? client.discover({ timeout: pingTimeoutMs })
        : client.ping({ timeout: pingTimeoutMs }));
    } catch (error) {
      this.#gone(reasonOf(error));
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#connecting.abort(new Error("The connection is closed."));
    if (this.#underWay.size > 0) await this.#atMost(graceMs, Promise.all([...this.#underWay.values()]));
    for (const breakOff of this.#underWay.keys()) breakOff("the connection was closed");
    if (this.#endSession !== undefined) await this.#atMost(endSessionMs, this.#endSession().catch(ignored));
    await this.#client?.close().catch(ignored);
    await this.#stdio?.close().catch(ignored); // a connect that failed half-way leaves the child to us
  }

  async #transport(): Promise<Transport> {
    if (this.#address.kind === "http") {
      const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
      const { url, headers } = this.#address;
      const transport = new StreamableHTTPClientTransport(url, {
        fetch: watchedFetch(this.#answerBytes + envelopeBytes),
        requestInit: { headers },
      });
      this.#endSession = () => transport.terminateSession();
      return transport;
    }
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    const { command, args, env, cwd } = this.#address;
    const transport = new StdioClientTransport({
      ...(ownSession === undefined ? { command, args: [...args] } : { command: ownSession, args: [command, ...args] }),
      env: { ...env },
      stderr: "pipe",
      ...(cwd !== undefined && { cwd }),
    });
    const { deserializeMessage } = await import("@modelcontextprotocol/client");
    // The SDK's own buffer has no verb to skip a line. A transport of another class would be probed in place, and old
    // servers do not outlive that.
    Object.assign(transport, { _readBuffer: new ServerLines(this.#answerBytes + envelopeBytes, deserializeMessage) });
    transport.stderr?.on("data", (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString()).slice(-2_000);
    });
    this.#stdio = transport;
    return transport;
  }

  /** What the server last wrote to its error stream, when it is worth telling. */
  #said(): string {
    const line = this.#lastWords.trim().split("\n").at(-1)?.trim().slice(0, 300);
    return line === undefined || line === "" ? "" : ` (it last said: ${line})`;
  }

  #connected(what: string): Client {
    if (this.#client === undefined || this.#over) throw notSent(`Tool \`${what}\`: its server is not connected.`);
    return this.#client;
  }

  async #atMost(ms: number, what: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelWait = this.#clock.in(ms, resolve);
    await Promise.race([what, promise]);
    cancelWait();
  }

  #gone(why: string): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#address.kind === "stdio") for (const breakOff of this.#underWay.keys()) breakOff(why);
    this.#events.onClose(why);
  }
}

async function newClient({ onToolsChanged }: UpstreamEvents): Promise<Client> {
  const sdk = await import("@modelcontextprotocol/client");
  return new sdk.Client(
    { name: "postern", version: "1" },
    {
      versionNegotiation: { mode: "auto", probe: { timeoutMs: probeTimeoutMs } },
      inputRequired: { autoFulfill: false },
      // The SDK would compile a stranger's output schema into code, in this process.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      }, // nothing reads it as a type
      listChanged: { tools: { autoRefresh: false, onChanged: () => onToolsChanged() } },
    },
  );
}

/** How far it is, in words and as a part of the whole where that is known. */
function tell({ progress, total, message }: Progress, { onProgress }: UpstreamCall): void {
  const words = message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`;
  onProgress(words, total === undefined || total === 0 ? undefined : progress / total);
}

/** Closing what is broken fails; there is nobody left to tell. */
function ignored(): void {}
