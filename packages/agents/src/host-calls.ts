/**
 * Calls of tools that an agent program runs itself: Postern decides, the host runs, Postern records how it ended.
 * Invariant: the claim is on disk before the host may run, and every claimed call ends: with the host's result, as not
 * run when the host did not run it, or as `unknown` when the host does not report.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { isRecord, type JsonObject, messageOf } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { Runtime } from "postern";
import type { AgentTools, RenderedToolAnswer, ToolUse } from "./agent-tools.ts";
import { type LibraryTool, registerLibraryTools, type ToolStatements } from "./library-tools.ts";

/** The decision before the host runs a tool. */
export type HostDecision =
  /** Claimed: the host must run exactly these arguments, once. */
  | { readonly run: JsonObject }
  /** The host must not run it. The model reads this answer instead. */
  | { readonly answer: RenderedToolAnswer };

/** How the host's run ended. */
export type HostEnd =
  | { readonly result: unknown; readonly ranWith: unknown }
  | { readonly error: string; readonly isInterrupted: boolean };

/** The promises of a claimed call. */
interface WaitingCall {
  readonly started: PromiseWithResolvers<JsonObject>;
  readonly ended: PromiseWithResolvers<unknown>;
}

interface Running extends WaitingCall {
  readonly given: string;
  readonly answer: Promise<RenderedToolAnswer>;
  readonly decision: Promise<HostDecision>;
}

const waiting = new AsyncLocalStorage<WaitingCall>();
const hostTools = new WeakMap<Runtime, Map<string, LibraryTool>>();

/**
 * Registers tools that a host runs, each with its statement.
 *
 * @throws RuntimeFault `options_invalid` for a tool whose risk is not stated
 */
export function registerHostTools(runtime: Runtime, statements: ToolStatements, host: string): void {
  const known = hostTools.get(runtime) ?? new Map<string, LibraryTool>();
  hostTools.set(runtime, known);
  const tools = Object.keys(statements).map((name) => known.get(name) ?? hostTool(name, host));
  registerLibraryTools(runtime, tools, statements);
  for (const tool of tools) known.set(tool.name, tool);
}

export function hostToolNames(runtime: Runtime): readonly string[] {
  return [...(hostTools.get(runtime)?.keys() ?? [])];
}

/** The host checks the arguments by its own schema, before and after Postern. */
function hostTool(name: string, host: string): LibraryTool {
  return {
    ...{ original: {}, name, description: `${name}, as ${host} runs it.`, input: { type: "object" } },
    execute: (input, { signal }) => {
      const call = waiting.getStore();
      if (call === undefined)
        throw notRun(`\`${name}\` runs only inside a session of ${host}: resume the session that asked for it.`);
      signal.addEventListener("abort", () => call.ended.reject(signal.reason), { once: true });
      call.started.resolve(input as JsonObject); // the gate only passes objects
      return call.ended.promise;
    },
  };
}

/** The calls of one session, by the host's ids. */
export class HostCalls {
  readonly #tools: AgentTools;
  readonly #running = new Map<string, Running>();

  constructor(tools: AgentTools) {
    this.#tools = tools;
  }

  /** Decides about a call. A second request about a claimed call gets the same answer. */
  async decide(use: ToolUse & { readonly id: string }, signal: AbortSignal): Promise<HostDecision> {
    const running = this.#running.get(use.id);
    if (running === undefined) return this.#begin(use, signal).decision;
    const decision = await running.decision;
    const given = digestOf(argumentsText(use));
    const isSame = "run" in decision && [running.given, digestOf(JSON.stringify(decision.run))].includes(given);
    if (isSame) return decision;
    running.ended.reject(notRun("The arguments were changed after the decision, so nothing ran."));
    return { answer: await running.answer };
  }

  /** Records how the host's run ended. Undefined when no such call is claimed. */
  async end(id: string, end: HostEnd): Promise<RenderedToolAnswer | undefined> {
    const running = this.#running.get(id);
    if (running === undefined) return undefined;
    const decision = await running.decision;
    if ("error" in end)
      running.ended.reject(end.isInterrupted ? unknownEnd(end.error) : new Error(end.error || "The tool failed."));
    else if ("run" in decision && matchesDecision(end.ranWith, decision.run)) running.ended.resolve(end.result);
    else running.ended.reject(unknownEnd("The host ran it with other arguments than were decided about."));
    return running.answer;
  }

  /** Records that the host has not run this call and will not. */
  async recordNotRun(id: string): Promise<void> {
    const running = this.#running.get(id);
    running?.ended.reject(notRun("The host did not run it."));
    await running?.answer;
  }

  /** A call that is still claimed when the session ends may have run. */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { ended } of running)
      ended.reject(unknownEnd("The session ended before the host reported how the tool ended."));
    await Promise.allSettled(running.map(({ answer }) => answer));
  }

  #begin(use: ToolUse & { readonly id: string }, signal: AbortSignal): Running {
    const call: WaitingCall = { started: Promise.withResolvers(), ended: Promise.withResolvers() };
    call.ended.promise.catch(() => undefined); // the tool may not have started, and then nothing waits for it
    const cancel = new AbortController();
    const aborted = (): void => cancel.abort(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    const answer = waiting
      .run(call, () => this.#tools.call(use, { signal: cancel.signal }))
      .finally(() => this.#running.delete(use.id));
    answer.catch(() => undefined); // `decision` rejects with the same reason
    const decision = Promise.race([
      call.started.promise.then((run): HostDecision => ({ run })),
      answer.then((ended): HostDecision => ({ answer: ended })),
    ]).finally(() => signal.removeEventListener("abort", aborted)); // later aborts end the host's run, and the host reports that
    const running: Running = { ...call, given: digestOf(argumentsText(use)), answer, decision };
    this.#running.set(use.id, running);
    return running;
  }
}

function argumentsText({ arguments: given }: ToolUse): string {
  return JSON.stringify(given ?? {});
}

/** The host may add defaults. Every member that was decided about must be unchanged. */
function matchesDecision(ranWith: unknown, run: JsonObject): boolean {
  if (!isRecord(ranWith)) return false;
  return Object.entries(run).every(([name, value]) => JSON.stringify(ranWith[name]) === JSON.stringify(value));
}

function notRun(message: string): Error {
  return Object.assign(new Error(message), { notExecuted: true });
}

function unknownEnd(message: string): Error {
  return Object.assign(new Error(messageOf(message)), { unknown: true });
}
