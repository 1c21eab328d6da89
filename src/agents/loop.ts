/**
 * A small agent loop: the model is asked, its tool calls go through the gate, the model reads the answers.
 *
 * Invariant: the state is written before and after the calls of each turn, and every call carries its id, so that a run
 * that waits or was killed goes on without running anything twice.
 * Next: model.ts (what a model is), agent-tools.ts (how calls are made), run-record.ts (the state), hooks.ts.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ProgressSink } from "../calls/event.ts";
import { messageOf } from "../calls/fault.ts";
import { digestOf } from "../calls/json.ts";
import type { Runtime } from "../face.ts";
import { type AnyTool, isLocalTool } from "../tools/kinds.ts";
import { insideOf } from "../tools/registry.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { type AgentContext, type AgentTools, openAgentTools, type ToolAnswer, type ToolUse } from "./agent-tools.ts";
import { type AgentHooks, type HookRun, hookRun } from "./hooks.ts";
import type { AgentModel, AnsweredUse, ModelRequest, ModelTool, ModelTurn } from "./model.ts";
import { promptedRecord, RunRecord } from "./run-record.ts";
import { toolSearch, toolSearchName } from "./tool-search.ts";
import { inSpan } from "./traces.ts";

export type { AgentContext, AgentTool, AgentTools, ToolAnswer, ToolUse } from "./agent-tools.ts";
export type { AiSdkLanguageModel } from "./ai-sdk-model.ts";
export { aiSdkModel } from "./ai-sdk-model.ts";
export type { AgentHooks } from "./hooks.ts";
export type { AgentMessage, AgentModel, ModelRequest, ModelTool, ModelTurn, ScriptedTurn } from "./model.ts";
export { scriptedModel } from "./model.ts";

export interface AgentOptions extends Omit<AgentContext, "runId" | "patience"> {
  readonly runtime: Runtime;
  readonly model: AgentModel;
  /** Default: `agent`. It is the principal's agent, unless a principal is given. */
  readonly name?: string;
  /** The system prompt; the instructions of active skills are appended to it. */
  readonly instructions?: string;
  /** A list becomes a toolbox, a toolbox is used as it is. Default: all that the runtime offers. */
  readonly tools?: Toolbox | Iterable<AnyTool>;
  /** Turns of the model in one run. Default: 50. */
  readonly maxSteps?: number;
  readonly hooks?: AgentHooks;
}

export interface AgentRequest {
  readonly prompt: string;
  /** `[A-Za-z0-9_-]{1,64}`. Default: a new one. */
  readonly runId?: string;
}

/** What may be heard of a run while it goes on. */
export type AgentEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly use: ToolUse }
  | { readonly type: "tool_answer"; readonly use: ToolUse; readonly answer: ToolAnswer };

export interface AgentRunOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: AgentEvent) => void;
  readonly onProgress?: ProgressSink;
}

/** How a run left. */
export type AgentResult = {
  readonly runId: string;
  /** The model's last text. */
  readonly text: string;
  readonly steps: number;
} & (
  | { readonly status: "done" }
  /** A person must decide these requests; `resume` goes on then. */
  | { readonly status: "waiting"; readonly approvalIds: readonly string[] }
  | {
      readonly status: "stopped";
      readonly reason: "max_steps" | "repeated_refusals" | "model_failed";
      readonly message: string;
    }
);

export interface Agent {
  readonly name: string;
  /** What the agent may use; tools that are added later are seen by the next step. Undefined: all that the runtime offers. */
  readonly toolbox: Toolbox | undefined;
  /** Starts a run, or gives a run that is done its next prompt. @throws RuntimeFault `run_taken` when the run is not done */
  run(request: AgentRequest, options?: AgentRunOptions): Promise<AgentResult>;
  /** Goes on with a run that waits or was cut off. Undefined when there is no such run. */
  resume(runId: string, options?: AgentRunOptions): Promise<AgentResult | undefined>;
}

/** The hooks of the agent whose tools run: they hear of the agents that these tools start. */
const calling = new AsyncLocalStorage<HookRun>();
const defaultMaxSteps = 50;
/** The same refused call this often ends the run: the model does not listen. */
const mostRefusals = 5;
const warnAfter = 3;

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
export function createAgent(options: AgentOptions): Agent {
  const { runtime, tools, name = "agent" } = options;
  const toolbox = tools === undefined ? undefined : Toolbox.from(tools);
  if (toolbox !== undefined) registerMissing(runtime, toolbox);
  const tenant = options.principal?.tenant ?? "default";
  const go = (record: RunRecord, more: AgentRunOptions): Promise<AgentResult> => {
    const attributes = {
      ...{ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.conversation.id": record.runId },
      "gen_ai.provider.name": options.model.provider,
    };
    return inSpan({ name: `invoke_agent ${name}`, kind: "internal", attributes, parent: record.trace }, (span) => {
      record.trace ??= span.spanContext();
      return new Run({ ...options, name, toolbox, record, more }).go();
    });
  };
  return {
    name,
    toolbox,
    async run({ prompt, runId }, more = {}) {
      return go(await promptedRecord(runtime.agentRuns, { tenant, runId }, prompt), more);
    },
    async resume(runId, more = {}) {
      const record = await RunRecord.load(runtime.agentRuns, { tenant, runId });
      return record && go(record, more);
    },
  };
}

/** Several agents may share a box, and its tools may be the runtime's already. */
function registerMissing(runtime: Runtime, toolbox: Toolbox): void {
  const register = (tool: AnyTool): undefined => {
    if (insideOf(runtime.tools).toolNamed(tool.name) !== tool) runtime.tools.register(tool);
  };
  for (const tool of toolbox.all()) register(tool);
  toolbox.follow(register);
  const isDeferred = toolbox.all().some((tool) => isLocalTool(tool) && tool.deferLoading === true);
  if (isDeferred && !runtime.tools.has(toolSearchName)) runtime.tools.register(toolSearch(runtime));
}

function asked(model: AgentModel, request: ModelRequest): Promise<ModelTurn> {
  const { provider, modelId } = model;
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": provider,
    "gen_ai.request.model": modelId,
  };
  return inSpan({ name: `chat ${modelId}`, kind: "client", attributes }, async (span) => {
    const turn = await model.generate(request);
    const { inputTokens, outputTokens } = turn.usage ?? {};
    if (inputTokens !== undefined) span.setAttribute("gen_ai.usage.input_tokens", inputTokens);
    if (outputTokens !== undefined) span.setAttribute("gen_ai.usage.output_tokens", outputTokens);
    return turn;
  });
}

interface EndedUse {
  readonly use: ToolUse;
  readonly answer: ToolAnswer;
}

interface RunOptions extends AgentOptions {
  readonly name: string;
  readonly toolbox: Toolbox | undefined;
  readonly record: RunRecord;
  readonly more: AgentRunOptions;
}

class Run {
  readonly #options: RunOptions;
  readonly #record: RunRecord;
  readonly #tools: AgentTools;
  readonly #hooks: HookRun;
  readonly #refusals = new Map<string, number>();

  constructor(options: RunOptions) {
    const { runtime, record, name, principal = { tenant: record.tenant, agent: name }, hooks, ...context } = options;
    this.#options = options;
    this.#record = record;
    this.#tools = openAgentTools(runtime, { ...context, principal, runId: record.runId, patience: "suspend" });
    this.#hooks = hookRun(hooks, { agent: name, runId: record.runId, traceId: this.#tools.session.traceId });
  }

  async go(): Promise<AgentResult> {
    await using _tools = this.#tools;
    calling.getStore()?.("handoff", { to: this.#options.name });
    this.#hooks("runStart", {});
    let status = "failed";
    try {
      const result = await this.#steps();
      status = result.status;
      return result;
    } finally {
      this.#hooks("runEnd", { status });
    }
  }

  async #steps(): Promise<AgentResult> {
    for (;;) {
      if (this.#record.isDone) return { ...this.#left(), status: "done" };
      const waiting = await this.#answerOpenUses();
      if (waiting !== undefined) return waiting;
      const loop = this.#repeated();
      if (loop !== undefined) return loop;
      const { steps } = this.#record;
      const { maxSteps = defaultMaxSteps } = this.#options;
      if (steps >= maxSteps)
        return this.#stopped("max_steps", `The agent used its ${maxSteps} turns and did not finish.`);
      const failed = await this.#turn();
      if (failed !== undefined) return failed;
    }
  }

  /** Asks the model once and keeps what it said. A result when the model failed. */
  async #turn(): Promise<AgentResult | undefined> {
    const { model, more } = this.#options;
    const { onEvent } = more;
    const step = this.#record.steps + 1;
    this.#hooks("stepStart", { step });
    this.#hooks("llmStart", { step, model: model.modelId });
    let turn: ModelTurn;
    try {
      turn = await asked(model, {
        system: await this.#system(),
        messages: this.#record.messages,
        tools: this.#shown(),
        ...(more.signal !== undefined && { signal: more.signal }),
        ...(onEvent !== undefined && { onText: (text: string) => onEvent({ type: "text", text }) }),
      });
    } catch (error) {
      this.#hooks("llmEnd", { step, model: model.modelId, failed: true });
      more.signal?.throwIfAborted();
      return this.#stopped("model_failed", `The model failed: ${messageOf(error)}`);
    }
    this.#hooks("llmEnd", { step, model: model.modelId, ...turn.usage });
    const { text, uses, raw } = turn;
    await this.#record.append({ role: "assistant", text, uses, ...(raw !== undefined && { raw }) });
    if (uses.length === 0) this.#hooks("stepEnd", { step, toolCalls: 0 });
    return undefined;
  }

  async #system(): Promise<string> {
    const { instructions = "" } = this.#options;
    return [instructions, await this.#tools.instructions()].filter((part) => part !== "").join("\n\n");
  }

  /** What the model may use: the box's tools, as far as policy and active skills show them. */
  #shown(): readonly ModelTool[] {
    const { toolbox } = this.#options;
    const tools = this.#tools
      .list()
      .filter(({ offer }) => toolbox === undefined || toolbox.has(offer.tool) || offer.tool === toolSearchName);
    const isSearched = tools.some(({ name }) => name === toolSearchName);
    return tools
      .filter(({ name, offer }) => !isSearched || !offer.deferLoading || this.#record.hasFound(name))
      .map(({ name, description, parameters, offer: { providerSpecs } }) => {
        return { name, description, parameters, ...(providerSpecs !== undefined && { providerSpecs }) };
      });
  }

  /** Runs what the last turn asked for and was not answered yet. A result when a person must decide first. */
  async #answerOpenUses(): Promise<AgentResult | undefined> {
    const uses = this.#record.openUses;
    if (uses.length === 0) return undefined;
    const ended = await calling.run(this.#hooks, () => this.#call(uses));
    const approvalIds = ended.flatMap(({ answer: { outcome } }) =>
      outcome.status === "pending" ? [outcome.approvalId] : [],
    );
    if (approvalIds.length > 0) return { ...this.#left(), status: "waiting", approvalIds };
    const answers = ended.map(({ use, answer }) => this.#answered(use, answer));
    await this.#record.append({ role: "tool", answers });
    this.#hooks("stepEnd", { step: this.#record.steps, toolCalls: uses.length });
    return undefined;
  }

  /** Provider-defined tools first, then the others as the runtime runs a batch; the answers are in the model's order. */
  async #call(uses: readonly ToolUse[]): Promise<readonly EndedUse[]> {
    const { signal, onProgress, onEvent } = this.#options.more;
    for (const use of uses) onEvent?.({ type: "tool_use", use });
    const context = { ...(signal !== undefined && { signal }), ...(onProgress !== undefined && { onProgress }) };
    const batch = async (part: readonly ToolUse[]): Promise<readonly EndedUse[]> => {
      const answers = await this.#tools.callAll(part, context);
      return part.flatMap((use, i) => (answers[i] === undefined ? [] : [{ use, answer: answers[i] }]));
    };
    const isFirst = (use: ToolUse): boolean => this.#tools.find(use.name)?.offer.kind === "provider_defined";
    const ended = [...(await batch(uses.filter(isFirst))), ...(await batch(uses.filter((use) => !isFirst(use))))];
    return ended.toSorted((one, other) => uses.indexOf(one.use) - uses.indexOf(other.use));
  }

  #answered(use: ToolUse, answer: ToolAnswer): AnsweredUse {
    const { outcome, text, content, isError } = answer;
    this.#options.more.onEvent?.({ type: "tool_answer", use, answer });
    if (outcome.marks !== undefined || outcome.refusal?.code === "result_withheld")
      this.#hooks("guardrailTrip", { toolName: use.name, callId: outcome.callId });
    if (outcome.refusal === undefined) return { use, text, content, isError };
    const times = this.#countRefusal(use);
    if (times < warnAfter) return { use, text, content, isError };
    const advice = `${text} You have sent this same call ${times} times. Do something else, or tell the user that it cannot be done.`;
    return { use, text: advice, content: [{ type: "text", text: advice }], isError };
  }

  #countRefusal({ name, arguments: given }: ToolUse): number {
    const key = `${name}\0${digestOf(JSON.stringify(given ?? null))}`;
    const times = (this.#refusals.get(key) ?? 0) + 1;
    this.#refusals.set(key, times);
    return times;
  }

  #repeated(): AgentResult | undefined {
    const times = Math.max(0, ...this.#refusals.values());
    if (times < mostRefusals) return undefined;
    return this.#stopped("repeated_refusals", `The agent sent the same refused call ${times} times.`);
  }

  #left(): Pick<AgentResult, "runId" | "text" | "steps"> {
    const { runId, lastText: text, steps } = this.#record;
    return { runId, text, steps };
  }

  #stopped(reason: Extract<AgentResult, { status: "stopped" }>["reason"], message: string): AgentResult {
    return { ...this.#left(), status: "stopped", reason, message };
  }
}
