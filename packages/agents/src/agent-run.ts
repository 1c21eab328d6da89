/**
 * A small agent loop: the model is asked, its tool calls go through the gate, the model reads the answers.
 * Invariant: the state is written before and after the calls of each turn, and every call has its id, so that a run
 * that waits or was killed continues without running anything twice.
 * Next: model.ts (what a model is), run-tools.ts (how calls are made), run-record.ts (the state), hooks.ts.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type AgentRunId,
  type AgentRuns,
  defined,
  isJsonObject,
  messageOf,
  type ProgressSink,
  type ToolOutcome,
} from "@postern/core";
import { digestOf } from "@postern/core/system";
import { type AgentHooks, type HookRun, hookRun } from "./hooks.ts";
import { withoutBytes } from "./images.ts";
import type { AgentMessage, AgentModel, AnsweredUse, ModelRequest, ModelTool, ModelTurn } from "./model.ts";
import { promptedRecord, RunRecord } from "./run-record.ts";
import type { RenderedToolAnswer, RunTool, RunTools, ToolUse } from "./run-tools.ts";
import { toolSearchName } from "./tool-search.ts";
import { inSpan } from "./traces.ts";
import { transcriptOf } from "./transcript.ts";

interface UsableTools extends Pick<RunTools, "session" | "list" | "find" | "callAll">, AsyncDisposable {
  /** Updates what the run may use. Returns what its active skills add to the system prompt. */
  instructions(): Promise<string>;
}

/** Where an agent works: with a runtime of this process, or with one behind its HTTP interface. */
export interface AgentPlace {
  /** The store of conversations. */
  readonly runs: Pick<AgentRuns, "load" | "save">;
  /** The tools that the agent may use in this run, limited by its skills. */
  open(run: AgentRunId): UsableTools;
  /** Adds to the folder of the run, which people read. The transcript grows, the rest is replaced. */
  describe(run: AgentRunId, about: AboutRun): Promise<unknown>;
}

/** What people read of a run beside its calls. */
export interface AboutRun {
  readonly prompt?: string;
  /** With the instructions of active skills. */
  readonly systemPrompt?: string;
  readonly transcript?: string;
}

/** The settings of an agent, wherever it works. */
export interface AgentSettings {
  readonly model: AgentModel;
  /** The system prompt; the instructions of active skills are appended to it. */
  readonly instructions?: string;
  /** Turns of the model in one run. Default: 50. */
  readonly maxSteps?: number;
  readonly hooks?: AgentHooks;
}

export interface AgentRequest {
  readonly prompt: string;
  /** `[A-Za-z0-9_-]{1,64}`. Default: a new one. */
  readonly runId?: string;
}

/** The events of a run while it goes on. */
export type AgentEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_use"; readonly use: ToolUse }
  | { readonly type: "tool_answer"; readonly use: ToolUse; readonly answer: RenderedToolAnswer };

export interface AgentRunOptions {
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: AgentEvent) => void;
  readonly onProgress?: ProgressSink;
}

/** How a run ended. */
export type AgentResult = {
  readonly runId: string;
  /** The model's last text. */
  readonly text: string;
  readonly steps: number;
} & (
  | { readonly status: "done" }
  /** A person must decide these requests; then `resume` continues. */
  | { readonly status: "waiting"; readonly approvalIds: readonly string[] }
  | {
      readonly status: "stopped";
      readonly reason: "max_steps" | "repeated_refusals" | "model_failed";
      readonly message: string;
    }
);

export interface Agent {
  readonly name: string;
  /** Starts a run, or gives a run that is done its next prompt. @throws RuntimeFault `run_taken` when the run is not done */
  run(request: AgentRequest, options?: AgentRunOptions): Promise<AgentResult>;
  /** Continues a run that waits or was interrupted. Returns undefined when there is no such run. */
  resume(runId: string, options?: AgentRunOptions): Promise<AgentResult | undefined>;
}

/** The hooks of the agent whose tools run. They report agents that these tools start. */
const calling = new AsyncLocalStorage<HookRun>();
const defaultMaxSteps = 50;
/** The run ends after this many refusals of the same call, because the model does not react to them. */
const mostRefusals = 5;
const warnAfter = 3;

interface PlacedAgent extends AgentSettings {
  readonly name: string;
  readonly principal: AgentRunId["principal"];
}

/** An agent that works there. */
export function agentAt(place: AgentPlace, agent: PlacedAgent): Agent {
  const { name, principal, model } = agent;
  const continueRun = (record: RunRecord, more: AgentRunOptions): Promise<AgentResult> => {
    const attributes = {
      ...{ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.conversation.id": record.runId },
      "gen_ai.provider.name": model.provider,
    };
    return inSpan({ name: `invoke_agent ${name}`, kind: "internal", attributes, parent: record.trace }, (span) => {
      record.trace ??= span?.spanContext();
      return new Run({ agent, place, record, more }).go();
    });
  };
  return {
    name,
    async run({ prompt, runId }, more = {}) {
      const record = await promptedRecord(place.runs, { principal, runId }, prompt);
      await describe(place, record.run, { prompt, transcript: transcriptOf({ role: "user", text: prompt }) });
      return continueRun(record, more);
    },
    async resume(runId, more = {}) {
      const record = await RunRecord.load(place.runs, { principal, runId });
      return record && continueRun(record, more);
    },
  };
}

/** A folder that cannot be written does not stop the run. */
async function describe(place: AgentPlace, run: AgentRunId, about: AboutRun): Promise<void> {
  await place.describe(run, about).catch((error: unknown) => {
    process.emitWarning(`The folder of the run \`${run.runId}\` could not be written: ${messageOf(error)}`);
  });
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
    if (inputTokens !== undefined) span?.setAttribute("gen_ai.usage.input_tokens", inputTokens);
    if (outputTokens !== undefined) span?.setAttribute("gen_ai.usage.output_tokens", outputTokens);
    return turn;
  });
}

interface EndedUse {
  readonly use: ToolUse;
  readonly answer: RenderedToolAnswer;
}

interface RunOptions {
  readonly agent: PlacedAgent;
  readonly place: AgentPlace;
  readonly record: RunRecord;
  readonly more: AgentRunOptions;
}

class Run {
  readonly #options: RunOptions;
  readonly #record: RunRecord;
  readonly #tools: UsableTools;
  readonly #hooks: HookRun;
  readonly #refusals = new Map<string, number>();
  #systemPrompt: string | undefined;
  #transcript = "";

  constructor(options: RunOptions) {
    const { agent, place, record } = options;
    this.#options = options;
    this.#record = record;
    this.#tools = place.open(record.run);
    this.#hooks = hookRun(agent.hooks, {
      agent: agent.name,
      runId: record.runId,
      traceId: this.#tools.session.traceId,
    });
  }

  async go(): Promise<AgentResult> {
    await using _tools = this.#tools;
    calling.getStore()?.("handoff", { to: this.#options.agent.name });
    this.#hooks("runStart", {});
    let status = "failed";
    try {
      const result = await this.#steps();
      status = result.status;
      return result;
    } finally {
      await this.#describe();
      this.#hooks("runEnd", { status });
    }
  }

  async #steps(): Promise<AgentResult> {
    const { agent } = this.#options;
    await this.#tools.instructions(); // a continued run makes its calls before it asks the model
    for (;;) {
      if (this.#record.isDone) return { ...this.#left(), status: "done" };
      const waiting = await this.#answerOpenUses();
      if (waiting !== undefined) return waiting;
      const loop = this.#repeated();
      if (loop !== undefined) return loop;
      const { steps } = this.#record;
      const { maxSteps = defaultMaxSteps } = agent;
      if (steps >= maxSteps)
        return this.#stopped("max_steps", `The agent used its ${maxSteps} turns and did not finish.`);
      const failed = await this.#turn();
      if (failed !== undefined) return failed;
    }
  }

  /** Asks the model once and stores its answer. Returns a result when the model failed. */
  async #turn(): Promise<AgentResult | undefined> {
    const {
      agent: { model },
      more,
    } = this.#options;
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
    await this.#append({ role: "assistant", text, uses, ...(raw !== undefined && { raw }) });
    if (uses.length === 0) this.#hooks("stepEnd", { step, toolCalls: 0 });
    return undefined;
  }

  async #append(message: AgentMessage): Promise<void> {
    await this.#record.append(message);
    this.#transcript += transcriptOf(message);
  }

  async #system(): Promise<string> {
    const { instructions = "" } = this.#options.agent;
    const system = [instructions, await this.#tools.instructions()].filter((part) => part !== "").join("\n\n");
    this.#systemPrompt = system;
    return system;
  }

  /** Once for each time that the run goes on, because each description is an event of the audit log. */
  async #describe(): Promise<void> {
    const about = defined({ systemPrompt: this.#systemPrompt, transcript: this.#transcript || undefined });
    if (Object.keys(about).length > 0) await describe(this.#options.place, this.#record.run, about);
  }

  /** The tools for the model. It is not shown deferred tools, and cannot call them, until it has found them. */
  #found(): readonly RunTool[] {
    const tools = this.#tools.list();
    const isSearched = tools.some(({ name }) => name === toolSearchName);
    return tools.filter(({ name, offer }) => !isSearched || !offer.deferLoading || this.#record.hasFound(name));
  }

  #shown(): readonly ModelTool[] {
    return this.#found().map(({ name, description, parameters, offer: { providerSpecs } }) => {
      return { name, description, parameters, ...(providerSpecs !== undefined && { providerSpecs }) };
    });
  }

  /** Runs the calls of the last turn that have no answer. Returns a result when a person must decide first. */
  async #answerOpenUses(): Promise<AgentResult | undefined> {
    const uses = this.#record.openUses;
    if (uses.length === 0) return undefined;
    const ended = await calling.run(this.#hooks, () => this.#call(uses));
    const approvalIds = ended.flatMap(({ answer: { outcome } }) =>
      outcome.status === "pending" ? [outcome.approvalId] : [],
    );
    if (approvalIds.length > 0) return { ...this.#left(), status: "waiting", approvalIds };
    const answers = ended.map(({ use, answer }) => this.#answered(use, answer));
    await this.#append({ role: "tool", answers });
    this.#hooks("stepEnd", { step: this.#record.steps, toolCalls: uses.length });
    return undefined;
  }

  /** Provider-defined tools first, then the others as the runtime runs a batch; the answers are in the model's order. */
  async #call(uses: readonly ToolUse[]): Promise<readonly EndedUse[]> {
    const { signal, onProgress, onEvent } = this.#options.more;
    for (const use of uses) onEvent?.({ type: "tool_use", use });
    const found = this.#found();
    const isLimited = found.length < this.#tools.list().length;
    const context = {
      ...(signal !== undefined && { signal }),
      ...(onProgress !== undefined && { onProgress }),
      ...(isLimited && { tools: found.map(({ offer }) => offer.tool) }),
    };
    const batch = async (part: readonly ToolUse[]): Promise<readonly EndedUse[]> => {
      const answers = await this.#tools.callAll(part, context);
      return part.flatMap((use, i) => (answers[i] === undefined ? [] : [{ use, answer: answers[i] }]));
    };
    const isFirst = (use: ToolUse): boolean => this.#tools.find(use.name)?.offer.kind === "provider_defined";
    const ended = [...(await batch(uses.filter(isFirst))), ...(await batch(uses.filter((use) => !isFirst(use))))];
    return ended.toSorted((one, other) => uses.indexOf(one.use) - uses.indexOf(other.use));
  }

  #answered(use: ToolUse, answer: RenderedToolAnswer): AnsweredUse {
    const { outcome, text, isError } = answer;
    const content = answer.content.map(withoutBytes);
    this.#options.more.onEvent?.({ type: "tool_answer", use, answer });
    if (isGuarded(outcome)) this.#hooks("guardrailTrip", { toolName: use.name, callId: outcome.callId });
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

/** A guardrail that refuses arguments is one of the rules that the refusal names. */
function isGuarded({ marks, refusal }: ToolOutcome): boolean {
  if (marks !== undefined || refusal?.code === "result_withheld") return true;
  const rules = isJsonObject(refusal?.details) ? refusal.details["rules"] : undefined;
  return Array.isArray(rules) && rules.some((rule) => String(rule).startsWith("guardrail "));
}
