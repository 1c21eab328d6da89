import {
  type AgentProgress,
  type CallEvent,
  momentNames,
  type ProgressSink,
  type ToolCall,
  type Watcher,
} from "@postern/core";
import type { Stream } from "./stream.ts";

/** Of more runs or open calls, the oldest is forgotten and its count begins again. */
const mostCounted = 10_000;

/**
 * Sends a sink the progress of every attempted call. Refused and replayed calls have none. The stream logs a failing sink.
 *
 * @example
 * using showing = runtime.watch(progressWatcher(({ step, content, seq }) => console.log(seq, step, content)));
 *
 * @public
 */
export function progressWatcher(sink: ProgressSink): Watcher {
  const steps = new Steps();
  return (event) => send(steps.of(event), sink);
}

/**
 * Sends callers the progress of their own calls and of the calls that these make (`onProgress`). It watches the stream only
 * while it has a caller.
 */
export class Listeners {
  readonly #stream: Pick<Stream, "watch">;
  readonly #steps = new Steps();
  readonly #sinks = new Map<string, ProgressSink>();
  #watching: Disposable | undefined;

  constructor(stream: Pick<Stream, "watch">) {
    this.#stream = stream;
  }

  /** From now on until the call has left. */
  listen({ id }: ToolCall, sink: ProgressSink): void {
    this.#sinks.set(id, sink);
    this.#watching ??= this.#stream.watch((event) => this.#see(event));
  }

  #see(event: CallEvent): void | Promise<void> {
    if (event.moment === "noted") return undefined;
    const { id } = event.call;
    const sink = this.#sinks.get(id);
    if (sink === undefined) return undefined;
    if (event.moment === "left") this.#forget(id);
    return send(this.#steps.of(event), sink);
  }

  #forget(id: string): void {
    this.#sinks.delete(id);
    if (this.#sinks.size > 0) return;
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
  }
}

const none: readonly AgentProgress[] = [];

/** Turns moments into progress. */
class Steps {
  readonly #counts = new Map<string, number>();
  readonly #open = new Map<string, number>();

  of(event: CallEvent): readonly AgentProgress[] {
    if (event.moment === "attempted") return this.#start(event.call);
    if (event.moment === "progressed") {
      const start = this.#start(event.call); // a tool may report progress before its claim is committed
      return [
        ...start,
        { ...this.#step(event.call, momentNames.progressed.progress, event.content), ...countOf(event) },
      ];
    }
    if (event.moment !== "ended" || !this.#open.has(event.call.id)) return none;
    const step = this.#step(event.call, momentNames.ended.progress, event.outcome.text);
    this.#open.delete(event.call.id);
    return [step];
  }

  /** The first moment of a call starts it, whichever it is. */
  #start(call: ToolCall): readonly AgentProgress[] {
    if (this.#open.has(call.id)) return none;
    const { runId } = call.authority;
    const seq = (this.#counts.get(runId) ?? 0) + 1;
    keepNewest(this.#counts, runId, seq);
    keepNewest(this.#open, call.id, seq);
    return [this.#step(call, momentNames.attempted.progress, call.tool)];
  }

  #step({ id, authority }: ToolCall, step: AgentProgress["step"], content: string): AgentProgress {
    const { principal, runId } = authority;
    return { agentId: principal.agent, step, content, runId, seq: this.#open.get(id) ?? 0 };
  }
}

function countOf({
  count,
  fraction,
}: Extract<CallEvent, { readonly moment: "progressed" }>): Pick<AgentProgress, "count"> {
  if (count !== undefined) return { count };
  return fraction === undefined ? {} : { count: { progress: fraction, total: 1 } };
}

function send(steps: readonly AgentProgress[], sink: ProgressSink): void | Promise<void> {
  const [only] = steps;
  if (only === undefined) return undefined;
  if (steps.length === 1) return sink(only);
  return Promise.all(steps.map((step) => sink(step))).then(() => undefined);
}

function keepNewest(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= mostCounted) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
