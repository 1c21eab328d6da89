import type { ToolCall } from "../calls/call.ts";
import { words } from "../calls/event.ts";
import type { Watcher } from "./watcher.ts";

/**
 * SPEC 14.2: what a run's own display is told of its calls.
 *
 * @public
 */
export interface AgentProgress {
  readonly agentId: string;
  readonly step: "TOOL_CALL" | "TOOL_PROGRESS" | "TOOL_RESULT";
  /** The tool's name, its own words, or the outcome's text. */
  readonly content: string;
  readonly runId: string;
  /** Which call of its run it is, from 1; the same for all steps of one call. */
  readonly seq: number;
}

/** Beyond so many runs or open calls the oldest is forgotten: its count begins again. */
const mostKept = 10_000;

/**
 * Tells a sink of every call that is really attempted; of a refused or replayed one nothing (case 196). A sink that fails
 * is the stream's to log.
 *
 * @example
 * using showing = runtime.watch(progressWatcher(({ step, content, seq }) => console.log(seq, step, content)));
 *
 * @public
 */
export function progressWatcher(sink: (progress: AgentProgress) => void | Promise<void>): Watcher {
  const counts = new Map<string, number>();
  const open = new Map<string, number>();

  const tell = (call: ToolCall, step: AgentProgress["step"], content: string, seq: number) =>
    sink({
      agentId: call.authority.principal.agent,
      step,
      content,
      runId: call.authority.runId,
      seq,
    });
  /** A tool may report progress before its claim is committed, so whichever comes first begins the call. */
  const begin = (call: ToolCall): { readonly seq: number; readonly told?: void | Promise<void> } => {
    const known = open.get(call.id);
    if (known !== undefined) return { seq: known };
    const { runId } = call.authority;
    const seq = (counts.get(runId) ?? 0) + 1;
    keepNewest(counts, runId, seq);
    keepNewest(open, call.id, seq);
    return { seq, told: tell(call, words.attempted.progress, call.tool, seq) };
  };

  return (event) => {
    if (event.moment === "attempted") return begin(event.call).told;
    if (event.moment === "progressed") {
      const { seq, told } = begin(event.call);
      return Promise.all([told, tell(event.call, words.progressed.progress, event.content, seq)]);
    }
    if (event.moment === "ended") {
      const seq = open.get(event.call.id);
      if (seq === undefined) return undefined;
      open.delete(event.call.id);
      return tell(event.call, words.ended.progress, event.outcome.text, seq);
    }
    return undefined;
  };
}

function keepNewest(map: Map<string, number>, key: string, value: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= mostKept) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
