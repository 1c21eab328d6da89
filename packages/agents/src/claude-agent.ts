/**
 * Claude Agent SDK (package `@anthropic-ai/claude-agent-sdk`): Postern's tools as an MCP server inside the process, and
 * the gate around the tools that the SDK runs itself, such as `Bash` and `Edit`.
 * Invariant: a tool of the SDK runs only after Postern has claimed its call. A tool that is not stated is refused, even
 * if the model or a setting names it. The types are those of the SDK, so the package itself is not needed here.
 * Next: host-calls.ts (how a tool that the host runs becomes a call).
 */
import { type CallToolResult, type ContentBlock as McpBlock, Server } from "@modelcontextprotocol/server";
import { type ContentBlock, isRecord, type JsonObject } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { Runtime } from "postern";
import {
  type AgentContext,
  type AgentTools,
  openAgentTools,
  type RenderedToolAnswer,
  type ToolUse,
} from "./agent-tools.ts";
import { HostCalls, hostToolNames, registerHostTools } from "./host-calls.ts";
import { asText, type ToolStatements } from "./library-tools.ts";

const host = "the Claude Agent SDK";
const serverName = "postern";
const ownPrefix = `mcp__${serverName}__`;
/** In seconds: a hook may wait for a person. The runtime's own limits end it first. */
const hookTimeout = 86_400;

/** The input of every hook of the SDK, as far as it is used here. */
export interface ClaudeHookInput {
  readonly hook_event_name: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_response?: unknown;
  readonly tool_use_id?: string;
  readonly error?: string;
  readonly is_interrupt?: boolean;
  readonly agent_id?: string;
  readonly mcp_server?: ClaudeMcpServer;
  readonly tool_calls?: readonly { readonly tool_use_id: string }[];
}

/** The origin of an MCP server's tool. Only the program itself can register a server of source `sdk`. */
export interface ClaudeMcpServer {
  readonly name: string;
  readonly source: string;
}

export interface ClaudeHookOutput {
  /** `false` ends the query. */
  continue?: false;
  stopReason?: string;
  hookSpecificOutput?:
    | {
        hookEventName: "PreToolUse";
        permissionDecision: "allow" | "ask" | "defer" | "deny";
        permissionDecisionReason?: string;
        updatedInput?: Record<string, unknown>;
      }
    | { hookEventName: "PostToolUse"; updatedToolOutput?: unknown; additionalContext?: string };
}

export interface ClaudeHookMatcher {
  hooks: ((
    input: ClaudeHookInput,
    toolUseId: string | undefined,
    options: { signal: AbortSignal },
  ) => Promise<ClaudeHookOutput>)[];
  timeout: number;
  onFailure: "block";
}

export type ClaudePermission =
  | { behavior: "allow"; updatedInput: Record<string, unknown> }
  | { behavior: "deny"; message: string };

/** For `query({ options: { ...options } })`. */
export interface ClaudeAgentOptions {
  /** The SDK's own tools that are stated. The model gets only these. */
  tools: string[];
  mcpServers: { postern: { type: "sdk"; name: string; instance: never } };
  hooks: Record<"PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "PostToolBatch", ClaudeHookMatcher[]>;
  canUseTool(
    name: string,
    input: Record<string, unknown>,
    options: { signal: AbortSignal; toolUseID: string; mcpServer?: ClaudeMcpServer },
  ): Promise<ClaudePermission>;
}

/** One session of the Claude Agent SDK behind the gate. */
export interface ClaudeAgent extends AsyncDisposable {
  readonly options: ClaudeAgentOptions;
  readonly agentTools: AgentTools;
}

/**
 * Puts tools that the SDK runs itself behind the gate, by their names in the SDK: `Bash`, `mcp__github__create_issue`. Do it
 * once, at start. A tool that is not stated here is refused.
 *
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
 *
 * @public
 */
export function wrapClaudeTools(runtime: Runtime, statements: ToolStatements): void {
  registerHostTools(runtime, statements, host);
}

/**
 * Makes the options of one `query`: the runtime's tools, and the hooks that ask about every tool.
 *
 * A call that a person must decide ends the query with `stop_reason: "tool_deferred"`. Resume the session after the decision:
 * the call then runs once, however often the session is resumed.
 *
 * @example
 * wrapClaudeTools(runtime, { Bash: { risk: "high", effects: "write" }, Read: { risk: "safe" } });
 * await using postern = claudeAgent(runtime, { principal, runId });
 * for await (const message of query({ prompt, options: { ...postern.options } })) console.log(message);
 *
 * @public
 */
export function claudeAgent(runtime: Runtime, context: AgentContext = {}): ClaudeAgent {
  const agentTools = openAgentTools(runtime, context);
  const names = hostToolNames(runtime);
  const session = new ClaudeSession(agentTools);
  const all = (hook: ClaudeHookMatcher["hooks"][number]): ClaudeHookMatcher[] => [
    { hooks: [hook], timeout: hookTimeout, onFailure: "block" },
  ];
  const instance = mcpServer(agentTools, new Set(names)) as never; // the SDK's type comes from another package
  return {
    agentTools,
    options: {
      tools: names.filter((name) => !name.startsWith("mcp__")),
      mcpServers: { [serverName]: { type: "sdk", name: serverName, instance } },
      hooks: {
        PreToolUse: all((input, _id, { signal }) => session.before(input, signal)),
        PostToolUse: all((input) => session.after(input)),
        PostToolUseFailure: all((input) => session.after(input)),
        PostToolBatch: all((input) => session.afterBatch(input)),
      },
      canUseTool: (name, input, { signal, toolUseID, mcpServer: server }) =>
        session.permission({ id: toolUseID, name, arguments: input }, { signal, isOurs: isOurs(name, server) }),
    },
    [Symbol.asyncDispose]: async () => {
      await session.close();
      await agentTools[Symbol.asyncDispose]();
    },
  };
}

type HostUse = ToolUse & { readonly id: string };

class ClaudeSession {
  readonly #tools: AgentTools;
  readonly #calls: HostCalls;

  constructor(tools: AgentTools) {
    this.#tools = tools;
    this.#calls = new HostCalls(tools);
  }

  /** `ask` makes the SDK ask `permission` next, which fixes the arguments that run, whatever other hooks say. */
  async before(input: ClaudeHookInput, signal: AbortSignal): Promise<ClaudeHookOutput> {
    const use = useOf(input);
    if (isOurs(use.name, input.mcp_server)) return (await this.#mustWait(use)) ? defer(waits) : decided("allow");
    const decision = await this.#calls.decide(use, signal);
    if ("run" in decision) return { hookSpecificOutput: { ...ask, updatedInput: decision.run } };
    const { outcome, text } = decision.answer;
    return outcome.status === "pending" ? defer(text) : decided("deny", notRunText(decision.answer));
  }

  async permission(
    use: HostUse,
    { signal, isOurs: isOwn }: { readonly signal: AbortSignal; readonly isOurs: boolean },
  ): Promise<ClaudePermission> {
    if (isOwn) return { behavior: "allow", updatedInput: use.arguments as JsonObject };
    const decision = await this.#calls.decide(use, signal);
    if ("run" in decision) return { behavior: "allow", updatedInput: decision.run };
    return { behavior: "deny", message: notRunText(decision.answer) };
  }

  /** The result in Postern's form: redacted, and withheld where a guardrail demands it. */
  async after(input: ClaudeHookInput): Promise<ClaudeHookOutput> {
    const { tool_use_id: id = "", tool_response: result, tool_input: ranWith, error, is_interrupt: stopped } = input;
    if (error !== undefined || input.hook_event_name === "PostToolUseFailure") {
      await this.#calls.end(id, { error: error ?? "", isInterrupted: stopped === true });
      return {};
    }
    const answer = await this.#calls.end(id, { result, ranWith });
    return answer === undefined ? {} : afterRun(answer, result);
  }

  /** A call of the batch that is still claimed was refused by a rule of the SDK, or by another hook. */
  async afterBatch({ tool_calls: calls = [] }: ClaudeHookInput): Promise<ClaudeHookOutput> {
    for (const { tool_use_id: id } of calls) await this.#calls.recordNotRun(id);
    return {};
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  async #mustWait({ name, ...use }: HostUse): Promise<boolean> {
    const own = { ...use, name: name.slice(ownPrefix.length) };
    return (await this.#tools.requestApproval(own)) !== undefined;
  }
}

const ask = { hookEventName: "PreToolUse", permissionDecision: "ask" } as const;
const waits = "A person must decide about this call in Postern.";

function decided(permissionDecision: "allow" | "defer" | "deny", reason?: string): ClaudeHookOutput {
  const why = reason === undefined ? {} : { permissionDecisionReason: reason };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...why } };
}

function defer(reason: string): ClaudeHookOutput {
  return decided("defer", reason);
}

function useOf({ tool_name: name = "", tool_use_id: id = "", tool_input: given }: ClaudeHookInput): HostUse {
  return { id, name, arguments: given };
}

function isOurs(name: string, server: ClaudeMcpServer | undefined): boolean {
  return name.startsWith(ownPrefix) && server?.source === "sdk" && server.name === serverName;
}

function notRunText({ outcome, text }: RenderedToolAnswer): string {
  return outcome.status === "ok" ? `This call has run already and is not run again. Its result: ${text}` : text;
}

/**
 * The answer to a hook after a run. The SDK accepts a replacement only in the tool's own form, and otherwise sends the
 * original; so a result that is withheld also ends the query.
 */
function afterRun({ outcome, text, isError }: RenderedToolAnswer, result: unknown): ClaudeHookOutput {
  const hookEventName = "PostToolUse";
  if (isError) {
    const updatedToolOutput = withoutTexts(result, { first: text });
    return { continue: false, stopReason: text, hookSpecificOutput: { hookEventName, updatedToolOutput } };
  }
  const { structured, cut, marks } = outcome;
  const left = typeof result === "string" ? outcome.text : structured;
  const isKept = left === undefined || cut !== undefined || isSame(left, result); // the SDK itself shortens long texts
  if (isKept && marks === undefined) return {};
  const found = marks?.map(({ guardrail, why }) => `A guardrail (${guardrail}) found in this result: ${why}.`);
  return {
    hookSpecificOutput: {
      hookEventName,
      ...(!isKept && { updatedToolOutput: left }),
      ...(found !== undefined && { additionalContext: found.join("\n") }),
    },
  };
}

/** The same form without its texts. The first text is what the model reads instead. */
function withoutTexts(result: unknown, left: { first: string }): unknown {
  if (typeof result === "string") {
    const { first } = left;
    left.first = "";
    return first;
  }
  if (Array.isArray(result)) return result.map((one) => withoutTexts(one, left));
  if (!isRecord(result)) return result;
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, name === "type" ? value : withoutTexts(value, left)]),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return digestOf(JSON.stringify(one)) === digestOf(JSON.stringify(other) ?? "");
}

function mcpServer(agentTools: AgentTools, hidden: ReadonlySet<string>): Server {
  const server = new Server({ name: serverName, version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: agentTools
      .list()
      .filter(({ offer }) => offer.kind === "local" && !hidden.has(offer.tool))
      .map(({ name, description, parameters, offer: { annotations, deferLoading } }) => ({
        ...{ name, description, annotations, inputSchema: { ...parameters, type: "object" as const } },
        _meta: { "anthropic/alwaysLoad": !deferLoading },
      })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    const id = mcpReq._meta?.["claudecode/toolUseId"];
    const use = { name: params.name, arguments: params.arguments, ...(typeof id === "string" && { id }) };
    const { content, isError } = await agentTools.call(use, { signal: mcpReq.signal });
    return { content: content.map(mcpBlock), isError };
  });
  return server;
}

function mcpBlock(block: ContentBlock): McpBlock {
  if ((block.type === "image" || block.type === "audio") && block.data !== undefined)
    return { type: block.type, data: block.data, mimeType: block.mediaType };
  return asText(block);
}
