import type { SpanContext } from "@opentelemetry/api";
import { type AgentRunId, type AgentRuns, isRecord, type Json, newId, RuntimeFault } from "@postern/core";
import type { AgentMessage } from "./model.ts";
import type { ToolUse } from "./run-tools.ts";
import { toolSearchName } from "./tool-search.ts";

/** The version of the stored state. A state of another version is refused. */
const form = 1;

type RunStates = Pick<AgentRuns, "load" | "save">;

interface RecordedRun {
  readonly version: number;
  readonly messages: readonly AgentMessage[];
  readonly trace?: SpanContext | undefined;
}

/** One run's conversation, the same in memory as in the store. One process writes it; a second writer gets a fault. */
export class RunRecord {
  readonly run: AgentRunId;
  /** The span of the run's first process, so that the run is one trace, however often it continues. */
  trace: SpanContext | undefined;
  readonly #runs: RunStates;
  #version: number;
  #messages: readonly AgentMessage[];

  constructor(runs: RunStates, run: AgentRunId, { version, messages, trace }: RecordedRun) {
    this.#runs = runs;
    this.run = run;
    this.trace = trace;
    this.#version = version;
    this.#messages = messages;
  }

  /** @throws RuntimeFault `request_invalid` for a state of another version of Postern */
  static async load(runs: RunStates, run: AgentRunId): Promise<RunRecord | undefined> {
    const found = await runs.load(run);
    return found && RunRecord.from(runs, run, found);
  }

  /** @throws RuntimeFault `request_invalid`, as `load` does */
  static from(
    runs: RunStates,
    run: AgentRunId,
    { state, version }: { readonly state: Json; readonly version: number },
  ): RunRecord {
    if (!isRecord(state) || state["form"] !== form || !Array.isArray(state["messages"]))
      throw new RuntimeFault(
        "request_invalid",
        `The state of the run \`${run.runId}\` was written by another version of Postern.`,
      );
    const { messages, trace } = state as unknown as Omit<RecordedRun, "version">; // of this form
    return new RunRecord(runs, run, { version, messages, trace });
  }

  get runId(): string {
    return this.run.runId;
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages;
  }

  /** Turns of the model so far. */
  get steps(): number {
    return this.#messages.filter(({ role }) => role === "assistant").length;
  }

  get lastText(): string {
    const last = this.#messages.findLast((message) => message.role === "assistant");
    return last?.role === "assistant" ? last.text : "";
  }

  /** Whether the model has given its last answer. */
  get isDone(): boolean {
    const last = this.#messages.at(-1);
    return last?.role === "assistant" && last.uses.length === 0;
  }

  /** Whether the model has read this name in an answer of `tool_search`. */
  hasFound(name: string): boolean {
    const answers = this.#messages.flatMap((message) => (message.role === "tool" ? message.answers : []));
    return answers.some(({ use, text }) => use.name === toolSearchName && text.includes(name));
  }

  /** The tool uses of the last turn that have no answers yet. Turns are counted, because some models repeat their ids. */
  get openUses(): readonly ToolUse[] {
    const last = this.#messages.at(-1);
    const turn = String(this.steps);
    return last?.role === "assistant" ? last.uses.map((use) => ({ ...use, turn })) : [];
  }

  /** On the disk when this resolves. @throws RuntimeFault `run_contended` when another process continues the run */
  async append(message: AgentMessage): Promise<void> {
    const messages = [...this.#messages, message];
    const state = { form, messages, ...(this.trace && { trace: this.trace }) } as unknown as Json; // all of it is plain JSON
    if (!(await this.#runs.save(this.run, state, this.#version)))
      throw new RuntimeFault("run_contended", `Another process continues the run \`${this.runId}\`.`);
    this.#version += 1;
    this.#messages = messages;
  }
}

/** A new run, or the next prompt of one that is done. @throws RuntimeFault `run_taken` when the run is not done */
export async function promptedRecord(
  runs: RunStates,
  { principal, runId = newId("run") }: Pick<AgentRunId, "principal"> & { readonly runId?: string | undefined },
  prompt: string,
): Promise<RunRecord> {
  const earlier = await RunRecord.load(runs, { principal, runId });
  if (earlier !== undefined) checkDone(earlier);
  const record = earlier ?? new RunRecord(runs, { principal, runId }, { version: 0, messages: [] });
  await record.append({ role: "user", text: prompt });
  return record;
}

/** @throws RuntimeFault `run_taken` when the run is not done, and so accepts no prompt */
export function checkDone({ isDone, runId }: Pick<RunRecord, "isDone" | "runId">): void {
  if (!isDone) throw new RuntimeFault("run_taken", `The run \`${runId}\` is not done; resume it, or take another id.`);
}
