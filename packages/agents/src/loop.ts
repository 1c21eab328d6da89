/** `@postern/agents/loop`: an agent of this process, with Postern's own loop (agent-run.ts). */
import { defined } from "@postern/core";
import type { AnyTool, Runtime } from "postern";
import { isLocalTool, Toolbox } from "postern/tools";
import { type Agent, type AgentPlace, type AgentSettings, agentAt } from "./agent-run.ts";
import { type AgentContext, openAgentTools } from "./agent-tools.ts";
import { toolSearch, toolSearchName } from "./tool-search.ts";

export type { Agent, AgentEvent, AgentRequest, AgentResult, AgentRunOptions, AgentSettings } from "./agent-run.ts";
export type { AgentContext, AgentTool, AgentTools, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
export type { AiSdkLanguageModel } from "./ai-sdk-model.ts";
export { aiSdkModel } from "./ai-sdk-model.ts";
export type { AgentHooks } from "./hooks.ts";
export type {
  AgentMessage,
  AgentModel,
  ModelRequest,
  ModelTool,
  ModelTurn,
  ScriptedTurn,
  ScriptedUse,
} from "./model.ts";
export { scriptedModel } from "./model.ts";

export interface AgentOptions extends AgentSettings, Omit<AgentContext, "runId" | "patience" | "tools"> {
  readonly runtime: Runtime;
  /** Default: `agent`. It is the principal's agent, unless a principal is given. */
  readonly name?: string;
  /** A list becomes a toolbox, a toolbox is used itself. Default: all that the runtime offers. */
  readonly tools?: Toolbox | Iterable<AnyTool>;
}

/** An agent that works with a runtime of this process. */
export interface RuntimeAgent extends Agent {
  /** The tools that the agent may use. Tools that are added later count from the next step. Undefined: all that the runtime offers. */
  readonly toolbox: Toolbox | undefined;
}

/**
 * Makes an agent.
 *
 * @example
 * const agent = createAgent({ runtime, model, instructions: "You help with mail.", skills: ["mail-etiquette"] });
 * const result = await agent.run({ prompt: "Tell Ada hello." });
 * if (result.status === "waiting") await agent.resume(result.runId); // after a person has decided
 *
 * @public
 */
export function createAgent(options: AgentOptions): RuntimeAgent {
  const { runtime, tools, name = "agent", principal = { tenant: "default", agent: name } } = options;
  const toolbox = tools === undefined ? undefined : Toolbox.from(tools);
  if (toolbox !== undefined) registerMissing(runtime, toolbox);
  const agent = agentAt(placeIn({ ...options, principal, tools: toolbox }), { ...options, name, principal });
  return { ...agent, toolbox };
}

type PlaceOptions = Omit<AgentContext, "runId" | "patience" | "tools"> &
  Pick<AgentOptions, "runtime"> & { readonly tools: Toolbox | undefined };

function placeIn({ runtime, ...context }: PlaceOptions): AgentPlace {
  return {
    runs: runtime.agentRuns,
    describe: async ({ principal, runId }, about) => {
      const { tenant } = principal;
      if (about.prompt === undefined) await runtime.runs?.describe({ tenant, runId }, about);
      else await runtime.runs?.begin({ tenant, runId }, { ...about, principal });
    },
    open: ({ runId }) => openAgentTools(runtime, defined({ ...context, runId, patience: "suspend" as const })),
  };
}

/** Several agents may share a box, and its tools may be the runtime's already. */
function registerMissing(runtime: Runtime, toolbox: Toolbox): void {
  const register = (tool: AnyTool): undefined => {
    if (!runtime.tools.has(tool)) runtime.tools.register(tool);
  };
  for (const tool of toolbox.all()) register(tool);
  toolbox.follow(register);
  const isDeferred = toolbox.all().some((tool) => isLocalTool(tool) && tool.deferLoading === true);
  if (isDeferred && !runtime.tools.has(toolSearchName)) runtime.tools.register(toolSearch(runtime));
}
