import { asSentence, type Clock, nearest, type ToolCall } from "@postern/core";
import { enteringAgain } from "../../call/arrival.ts";
import { type Ending, refuse } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";
import { type Controls, pauseOf, pauseText } from "../../policy/controls.ts";
import type { Offer, Tools } from "../../tools/tool.ts";
import { callerGone } from "./not-run.ts";
import type { Again, CountedCall, FoundCall, FreshCall } from "./stages.ts";

export interface LookupParts {
  readonly tools: Tools;
  readonly controls: Pick<Controls, "state">;
  /** The tools that the caller may see; only these are suggested for an unknown name. */
  readonly visible?: (call: ToolCall) => readonly Offer[];
}

/**
 * Waits for the first attempt to connect the tool's server, so that a call in the first seconds finds its tool. Returns
 * undefined if there is nothing to wait for; else an ending if the caller leaves meanwhile.
 */
export function awaitServer(
  call: CountedCall,
  caller: Caller,
  { tools, clock }: Pick<LookupParts, "tools"> & { readonly clock: Clock },
): Promise<Ending | undefined> | undefined {
  const attempt = tools.serverArriving?.(call.tool);
  return attempt && arrived(call, attempt, caller, clock);
}

/**
 * Starts the server of a call that is about to run or to be previewed, if no call needed it for a time. The call then enters
 * again, because the server may define the tool differently now. Returns undefined if there is nothing to start.
 */
export function startServer(
  call: FreshCall,
  caller: Caller,
  { tools, clock }: Pick<LookupParts, "tools"> & { readonly clock: Clock },
): Promise<Ending | Again> | undefined {
  const start = tools.serverToStart?.(call.tool);
  return start && startedOrLeft(call, start, caller, clock);
}

async function startedOrLeft(
  call: FreshCall,
  start: Promise<void>,
  caller: Caller,
  clock: Clock,
): Promise<Ending | Again> {
  const left = await arrived(call, start, caller, clock);
  return left ?? { again: enteringAgain(call) };
}

async function arrived(
  call: ToolCall,
  attempt: Promise<void>,
  caller: Caller,
  clock: Clock,
): Promise<Ending | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const { session, signal, deadline = Number.POSITIVE_INFINITY } = caller;
  const leftMs = Math.min(session.remainingMs(), deadline - clock.monotonic());
  const cancelWait = Number.isFinite(leftMs) ? clock.in(Math.max(0, leftMs), resolve) : undefined;
  const leave = (): void => resolve();
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  await Promise.race([attempt, over]);
  cancelWait?.();
  signal?.removeEventListener("abort", leave);
  return callerGone(call, caller, clock);
}

/** Finds the tool, and refuses if calls, the agent or the run are paused, or the tool is disabled or broken. */
export function lookup(call: CountedCall, parts: LookupParts): FoundCall | Ending {
  const { state } = parts.controls;
  if (state.paused) return paused(state);
  const pause = pauseOf(state, call.authority);
  if (pause !== undefined) return refuse("paused", pauseText(pause), { kind: pause.kind, name: pause.name });
  const { tools: only } = call.authority;
  if (only !== undefined && !only.includes(call.tool)) return refuse("tool_unknown", notOneOf(call.tool, only));
  const found = parts.tools.find(call.tool, call.action);
  if (found === undefined) {
    const why = parts.tools.missing?.(call.tool);
    if (why !== undefined) return refuse("tool_unavailable", asSentence(why));
    return refuse("tool_unknown", unknown(call, parts));
  }
  if (call.authority.fromChain === true && found.notFromChain !== undefined)
    return refuse("tool_not_callable", found.notFromChain);
  const problem = parts.tools.unavailable(found);
  const needed = parts.tools.missingFor?.(call.tool, call.authority.principal);
  if (problem !== undefined) return refuse("tool_unavailable", asSentence(problem), needed?.details);
  if (needed !== undefined) return refuse("tool_unavailable", needed.message, needed.details);
  return { ...call, found } as FoundCall;
}

/** Gives the operator's reason, but not the operator's name. */
function paused({ pausedBy }: Controls["state"]): Ending {
  return pausedBy?.reason === undefined || pausedBy.reason.trim() === ""
    ? refuse("paused")
    : refuse("paused", `An operator has paused all tool calls (${pausedBy.reason}); try again later.`);
}

function unknown(call: CountedCall, { tools, visible }: LookupParts): string {
  if (tools.has(call.tool))
    return `Tool \`${call.tool}\` has no action \`${call.action}\`; list the tools to see what it offers.`;
  const meant = visible && nearest(call.tool, visible(call).map(nameOf));
  const perhaps = meant === undefined ? "" : `did you mean \`${meant}\`? Else `;
  return `No tool is named \`${call.tool}\`; ${perhaps}list the tools to see what there is.`;
}

/** The caller's tools are limited. The message is the same whether another caller has the tool or not. */
function notOneOf(tool: string, tools: readonly string[]): string {
  const meant = nearest(tool, tools);
  return `\`${tool}\` is not one of your tools; ${meant === undefined ? "" : `did you mean \`${meant}\`? Else `}use those you were given.`;
}

function nameOf({ tool }: Offer): string {
  return tool;
}
