import type { Clock } from "../calls/clock.ts";
import type { Announce } from "../calls/event.ts";
import type { Caller } from "../calls/session.ts";
import type { ClaimedCall } from "../gates/stages.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import { type LazySignal, type Ran, runForeign } from "../tools/run-foreign.ts";
import { type CallChild, CallContext } from "./context.ts";
import { inputOf } from "./input.ts";

export interface ExecuteParts {
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly announce: Announce;
  readonly child: CallChild;
}

/**
 * Runs the tool, bounded by its own timeout or the session's, by what is left of the session and by the caller's
 * deadline (D16). Never throws. Nothing that was lent works after it.
 */
export function execute(call: ClaimedCall, caller: Caller, parts: ExecuteParts): Ran<unknown> | Promise<Ran<unknown>> {
  const { found } = call;
  const { session, signal, deadline } = caller;
  const remainingMs = session.remainingMs(call.claimedAt);
  const limitMs = found.suspends ? remainingMs : Math.min(found.timeoutMs ?? session.limits.callTimeoutMs, remainingMs);
  const body = (run: LazySignal): unknown => {
    const context = new CallContext(call, caller, run, parts);
    if (call.references.length === 0) return found.execute(call.input, context);
    return inputOf(call, parts.artifacts).then((input) => found.execute(input, context));
  };
  return runForeign<unknown>(body, { limitMs, signal, deadline, clock: parts.clock });
}
