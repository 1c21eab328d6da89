import type { Announce, Clock, ToolCall } from "@postern/core";
import type { Caller } from "../call/session.ts";
import type { CurrentPolicy } from "../policy/current-policy.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { mostAnswerBytes } from "../results/raw-result.ts";
import { holdsStream, mostArtifactBytes, withStoredStreams } from "../results/stored-streams.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import { failureOf } from "../tools/failure.ts";
import { type LazySignal, type Ran, runForeign } from "../tools/run-foreign.ts";
import type { Tools } from "../tools/tool.ts";
import { type CallChild, ToolCallContext } from "./context.ts";
import type { ClaimedCall } from "./gates/stages.ts";
import { originOf } from "./guard-result.ts";
import { inputOf } from "./input.ts";
import type { Workers } from "./workers.ts";

export interface ExecuteParts {
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly artifacts: ArtifactStore;
  /** Largest artifact that a stream may fill, in bytes. Default `mostArtifactBytes`. */
  readonly artifactBytes?: number | undefined;
  readonly answerBytes?: number | undefined;
  readonly clock: Clock;
  readonly announce: Announce;
  /** Runs the tool within the span of its call. */
  readonly within: <Result>(call: ToolCall, body: () => Result) => Result;
  readonly child: CallChild;
  readonly tools: Tools;
  readonly policy: CurrentPolicy;
  /** Present if some tools run in other processes. */
  readonly workers?: Workers | undefined;
  readonly log: (problem: string, call?: ToolCall) => void;
  /** Calls `then` once when Postern waits no longer for running calls. Returns a function that takes it back. */
  readonly onStop?: (then: () => void) => () => void;
}

/**
 * Runs the tool, limited by its own timeout or the session's, the session's remaining time and the caller's deadline.
 * Never throws. Its context stops working when it ends; a later answer changes nothing and is logged.
 */
export function execute(call: ClaimedCall, caller: Caller, parts: ExecuteParts): Promise<Ran<unknown>> {
  const { found } = call;
  const { signal, deadline } = caller;
  const limitMs = limitOf(call, caller);
  const { workers } = parts;
  const isElsewhere = workers?.groupOf(found) !== undefined;
  const body = async (run: LazySignal): Promise<unknown> => {
    const context = new ToolCallContext(call, caller, run, parts);
    if (isElsewhere) return parts.within(call, () => workers.run(call, caller, context));
    const input = call.references.length === 0 ? call.input : await inputOf(call, parts.artifacts);
    return keptStreams(await parts.within(call, () => found.execute(input, context)), { call, caller, run }, parts);
  };
  const onLate = (late: Ran<unknown>): void => reportLate(call, late, parts);
  return runForeign<unknown>(body, { limitMs, signal, deadline, clock: parts.clock, onStop: parts.onStop, onLate });
}

/** Milliseconds from the claim on. */
function limitOf({ found, claimedAt }: ClaimedCall, { session }: Caller): number {
  const remainingMs = session.remainingMs(claimedAt);
  return found.suspends ? remainingMs : Math.min(found.timeoutMs ?? session.limits.callTimeoutMs, remainingMs);
}

/** Milliseconds until `execute` stops waiting. */
export function timeLeft(call: ClaimedCall, caller: Caller, clock: Clock): number {
  const now = clock.monotonic();
  return Math.min(call.claimedAt + limitOf(call, caller), caller.deadline ?? Number.POSITIVE_INFINITY) - now;
}

/** Streams of the answer are read within the call, so its timeout holds for them. */
function keptStreams(
  answer: unknown,
  { call, caller, run }: { readonly call: ClaimedCall; readonly caller: Caller; readonly run: LazySignal },
  { artifacts, redactor, artifactBytes = mostArtifactBytes, answerBytes = mostAnswerBytes }: ExecuteParts,
): unknown {
  if (!holdsStream(answer)) return answer;
  const owner = call.authority.principal;
  const { session } = caller;
  const signal = (): AbortSignal => run.signal;
  const kept = { judgement: originOf(call), stored: call.artifacts.stored };
  return withStoredStreams(answer, {
    owner,
    session,
    redactor,
    artifacts,
    artifactBytes,
    answerBytes,
    signal,
    ...kept,
  });
}

/** An operator who settles an `unknown` call needs this line. A tool that stopped because it was aborted is not logged. */
function reportLate(call: ClaimedCall, late: Ran<unknown>, { log }: ExecuteParts): void {
  const failure = late.ran === "threw" ? failureOf(late.error) : undefined;
  if (failure !== undefined && (failure.unknown || /^(?:Abort|Timeout)Error\b/.test(failure.message))) return;
  const how = failure === undefined ? "returned" : `threw: ${failure.message}`;
  log(
    `\`${call.tool}\` answered after its call \`${call.id}\` was over: it ${how}. The outcome of the call stays as it is; if it is \`unknown\`, settle it.`,
    call,
  );
}
