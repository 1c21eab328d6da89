import { messageOf } from "@postern/core";

/** The members that every hook gets. */
export interface HookBase {
  readonly agent: string;
  readonly runId: string;
  readonly traceId: string;
}

/** The members of each moment of an agent's run. Never arguments, results or texts, because a hook's author may not be allowed to see them. */
export interface AgentMoments {
  readonly runStart: object;
  /** `failed`: the run threw, for example because it was cancelled. */
  readonly runEnd: { readonly status: string };
  readonly stepStart: { readonly step: number };
  readonly stepEnd: { readonly step: number; readonly toolCalls: number };
  readonly llmStart: { readonly step: number; readonly model: string };
  readonly llmEnd: {
    readonly step: number;
    readonly model: string;
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    /** The model gave no answer. */
    readonly failed?: true;
  };
  /** A guardrail marked or withheld a result, or refused a call for its arguments. */
  readonly guardrailTrip: { readonly toolName: string; readonly callId: string };
  /** One of its tools has started the agent `to`. */
  readonly handoff: { readonly to: string };
}

/** Functions for the moments of a run. They are called without waiting; a hook that fails causes a process warning. */
export type AgentHooks = {
  readonly [Moment in keyof AgentMoments]?: (info: HookBase & AgentMoments[Moment]) => unknown;
};

export type HookRun = <Moment extends keyof AgentMoments>(moment: Moment, info: AgentMoments[Moment]) => void;

export function hookRun(hooks: AgentHooks | undefined, base: HookBase): HookRun {
  if (hooks === undefined) return () => undefined;
  return (moment, info) => {
    const hook = hooks[moment] as ((info: object) => unknown) | undefined; // the moment fixes the type
    const failed = (error: unknown): void => process.emitWarning(`The hook \`${moment}\` failed: ${messageOf(error)}`);
    try {
      Promise.resolve(hook?.({ ...base, ...info })).catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
