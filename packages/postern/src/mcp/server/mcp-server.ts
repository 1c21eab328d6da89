import { type Clock, SystemClock } from "@postern/core";
import type { Runtime } from "../../runtime/api/api.ts";
import { processMessagesOf } from "../../runtime/process-messages.ts";
import { Windows } from "../../runtime/services/windows.ts";
import { ToolIndex } from "../../tools/tool-index.ts";
import { featuresIn } from "../client/server-features.ts";
import type { HttpExchange } from "../protocol/http-exchange.ts";
import { callerAt, FoundTools } from "./deferred.ts";
import type { DispatchParts } from "./dispatcher.ts";
import { HeldCalls } from "./held-calls.ts";
import { HttpEntry } from "./http.ts";
import type { Pipes } from "./line-transport.ts";
import { LineEntry } from "./lines.ts";
import type { McpCaller } from "./request-source.ts";
import { Subscriptions } from "./subscriptions.ts";
import { CallTasks } from "./tasks.ts";

export interface McpGatewayOptions {
  readonly runtime: Runtime;
  readonly name?: string;
  readonly version?: string;
  /** How long a call waits for a person before its client receives `approval_pending`. Default: 20 s; clients give up after 60. */
  readonly approvalWaitMs?: number;
  readonly clock?: Clock;
  /** The address of the console, when it listens. Agents pass it on to people. */
  readonly console?: () => string | undefined;
}

/** Of the address that a client uses. */
export interface EndpointPath {
  /** Of this server alone. */
  readonly server?: string;
  /** `search` or `code`: a few tools that find the others. Any other text is refused. */
  readonly mode?: string;
}

export interface McpGateway extends AsyncDisposable {
  /** One HTTP request by an authenticated caller, at `/mcp` or at `/mcp/<server>`. The HTTP server limits size, host and origin. */
  handle(exchange: HttpExchange, caller: McpCaller, path?: EndpointPath): void;
  /** Serves one client over pipes (default: those of this process) until it closes them. */
  serveStdio(caller: McpCaller, pipes?: Pipes): Promise<void>;
  close(): Promise<void>;
}

/** Tools over MCP, revisions 2025-11-25 and 2026-07-28, for any number of clients. */
export function createMcpGateway(options: McpGatewayOptions): McpGateway {
  return new GatewayEndpoint(options);
}

class GatewayEndpoint implements McpGateway {
  readonly #parts: DispatchParts;
  readonly #http: HttpEntry;
  readonly #lines = new Set<LineEntry>();
  readonly #stopFollowing: () => void;

  constructor({
    runtime,
    name = "postern",
    version = "0",
    approvalWaitMs = 20_000,
    clock = new SystemClock(),
    console,
  }: McpGatewayOptions) {
    const processes = processMessagesOf(runtime);
    const subscriptions = new Subscriptions(runtime);
    const grew = (caller: string): void => subscriptions.tellMoreTools((source) => callerAt(source) === caller);
    this.#parts = {
      ...{ runtime, clock, approvalWaitMs, console, name, version, subscriptions },
      windows: new Windows(runtime, clock),
      held: new HeldCalls(clock, processes),
      tasks: new CallTasks(clock, processes),
      index: new ToolIndex(runtime.tools),
      found: new FoundTools(processes, grew),
    };
    this.#http = new HttpEntry(this.#parts);
    const changed = soon(() => this.#toolsChanged());
    const watching = runtime.watch((event) => {
      if (event.moment === "noted" && changesTools.test(event.type)) changed();
    });
    const unfollow = runtime.tools.follow(changed);
    const deafen = featuresIn(runtime.tools).follow({
      get wantsMessages() {
        return subscriptions.wantsMessages;
      },
      told: (server, notice) => void subscriptions.tell(notice, server),
    });
    this.#stopFollowing = () => {
      deafen();
      unfollow();
      watching[Symbol.dispose]();
    };
  }

  handle(exchange: HttpExchange, caller: McpCaller, { server, mode }: EndpointPath = {}): void {
    this.#http.receive(exchange, { caller, server }, mode);
  }

  async serveStdio(caller: McpCaller, pipes: Pipes = { input: process.stdin, output: process.stdout }): Promise<void> {
    const entry = new LineEntry(pipes, { caller, server: undefined }, this.#parts);
    this.#lines.add(entry);
    await entry.ended;
    this.#lines.delete(entry);
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    this.#parts.subscriptions.close();
    this.#parts.held.close();
    await new Promise((resolve) => setImmediate(resolve)); // their answers are sent
    this.#http.close();
    for (const entry of this.#lines) entry.close();
    await this.#parts.windows.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #toolsChanged(): void {
    void this.#parts.subscriptions.tell({ kind: "list", list: "tools" });
  }
}

/** Events that change which tools are offered. */
const changesTools = /^(operator\.action\.|skill\.(de)?activated$)/;

/** Announces several changes of one moment once. */
function soon(then: () => void): () => void {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    setImmediate(() => {
      waits = false;
      then();
    });
  };
}
