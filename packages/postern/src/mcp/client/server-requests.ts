import { type Json, type JsonObject, messageOf } from "@postern/core";
import { LostAnswer } from "../../results/raw-result.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { type CallUpstream, upstreamCallOf } from "./adapter.ts";
import type { ToolRegistrar } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import { featuresIn } from "./server-features.ts";
import type { ServerInstructions } from "./server-instructions.ts";
import type { ServerNotices } from "./server-notices.ts";
import { termsOf } from "./terms.ts";
import type { RefusedTool, Upstream } from "./upstream.ts";

/** The tool that stands for a server's resources, prompts and completions. It is not listed. */
export function requestsToolName(server: string): string {
  return publicName(server, requestsName);
}

/** Its name under `tools` of its server, although the server does not list it. */
export const requestsName = "requests";
const text = { type: "string" };
const object = { type: "object" };

/** The requests by the actions that stand for them. */
const requests = {
  read_resource: { method: "resources/read", properties: { uri: text }, required: ["uri"] },
  get_prompt: { method: "prompts/get", properties: { name: text, arguments: object }, required: ["name"] },
  complete: {
    method: "completion/complete",
    properties: { ref: object, argument: object, context: object },
    required: ["ref", "argument"],
  },
  subscribe: { method: "resources/subscribe", properties: { uri: text }, required: ["uri"] },
  unsubscribe: { method: "resources/unsubscribe", properties: { uri: text }, required: ["uri"] },
} as const;

export const actionOf: ReadonlyMap<string, string> = new Map(
  Object.entries(requests).map(([action, { method }]) => [method, action]),
);

export interface ServerRequestsOptions {
  readonly registry: ToolRegistrar;
  readonly call: CallUpstream;
  readonly list: (method: string, member: string) => Promise<readonly JsonObject[]>;
  readonly notices: ServerNotices;
  readonly instructions: ServerInstructions;
  readonly redact: (text: string) => string;
}

/**
 * Registers one unlisted tool for a server that has resources, prompts or completions, so that a request for them passes the
 * same gates as a call of a tool. Shows the MCP server of the runtime what else the server has.
 */
export class ServerRequests {
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #options: ServerRequestsOptions;
  #isRegistered = false;
  #refused: readonly RefusedTool[] = [];

  constructor(server: string, config: ServerConfig, options: ServerRequestsOptions) {
    this.#server = server;
    this.#config = config;
    this.#options = options;
  }

  /** The server is connected, and declares what it has. */
  follow({ capabilities }: Pick<Upstream, "capabilities">): void {
    const { registry } = this.#options;
    if (capabilities !== undefined) this.#show(capabilities);
    if (!["resources", "prompts", "completions"].some((name) => capabilities?.[name] !== undefined)) {
      if (this.#isRegistered) registry.unregister(requestsToolName(this.#server));
      this.#isRegistered = false;
      return;
    }
    const tool = this.#tool();
    const { riskSource } = this.#terms();
    try {
      registry.register(tool, { server: this.#server, riskSource, unlisted: true, replace: this.#isRegistered });
      this.#isRegistered = true;
      this.#refused = [];
    } catch (error) {
      const why = `Its resources, prompts and completions are not offered: ${messageOf(error)} Give the server's tool of that name another one: \`as\` in \`servers.${this.#server}.tools\`.`;
      this.#refused = [{ tool: tool.name, why }];
    }
  }

  /** Why they are not offered although the server has some. */
  get refused(): readonly RefusedTool[] {
    return this.#refused;
  }

  #show(capabilities: JsonObject): void {
    const { registry, list, notices, call, instructions, redact } = this.#options;
    featuresIn(registry).set(this.#server, {
      ...{ capabilities, list },
      askForLogs: (from) => notices.askForLogs(from),
      repeat: async (method, uri, client, principal) => {
        const { signal } = new AbortController();
        await call(method, { uri }, { method, client, principal, signal, idempotencyKey: "", onProgress: ignored });
      },
      get instructions() {
        return instructions.trusted && redact(instructions.trusted);
      },
    });
  }

  #terms(): ReturnType<typeof termsOf> {
    const annotations = { readOnlyHint: true };
    return termsOf({ name: requestsName, inputSchema: object, annotations }, this.#config);
  }

  #tool(): LocalTool {
    const { risk, effects, openWorld, scopes, timeoutMs } = this.#terms();
    return {
      name: requestsToolName(this.#server),
      description: `Resources and prompts of the server ${this.#server}.`,
      toolType: "MCP",
      ...{ risk, effects, openWorld, scopes, idempotent: true },
      ...(timeoutMs !== undefined && { timeoutMs }),
      actions: Object.fromEntries(
        Object.entries(requests).map(([action, { method, properties, required }]) => [
          action,
          {
            description: `\`${method}\` of the server ${this.#server}.`,
            input: { type: "object", properties, required: [...required] },
            execute: (given: unknown, context: ToolContext) => this.#send(method, given as JsonObject, context), // checked
          },
        ]),
      ),
    };
  }

  async #send(method: string, given: JsonObject, context: ToolContext): Promise<ToolAnswer> {
    const answer = await this.#options.call(method, given, { ...upstreamCallOf(context), method });
    if (answer instanceof LostAnswer) return answer as unknown as ToolAnswer; // `toRawResult` takes it
    return { content: [], structured: answer.structured as Json }; // `toRawResult` takes a `LargeJson` too
  }
}

function ignored(): void {}
