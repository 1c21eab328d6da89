import { Arrival } from "../calls/arrival.ts";
import type { Clock } from "../calls/clock.ts";
import { isEnding } from "../calls/ending.ts";
import { RuntimeFault } from "../calls/fault.ts";
import type { CallRecord } from "../calls/records.ts";
import { checkArguments } from "../gates/arguments.ts";
import { ask } from "../gates/budget.ts";
import { type LookupParts, lookup } from "../gates/lookup.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { lend } from "../secrets/lend.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import { failureOf } from "../tools/failure.ts";
import { runForeign } from "../tools/run-foreign.ts";
import type { Reconciled, ToolContext } from "../tools/tool.ts";
import { inputOf } from "./input.ts";
import { looking } from "./looking.ts";

export interface ReconcileParts extends LookupParts {
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  readonly secrets: SecretStore;
  readonly clock: Clock;
}

const reconcileTimeoutMs = 60_000;

/**
 * The tool's own look at what became of an `unknown` call (SPEC 9.6). It may read with the call's key and the tool's
 * secrets; it makes no calls. Never throws: whatever keeps it from answering leaves the call unknown, with the reason.
 */
export async function askTool(
  record: CallRecord,
  parts: ReconcileParts,
): Promise<Reconciled & { readonly problem?: string }> {
  const found = lookup(ask(new Arrival(record.call)), parts);
  if (isEnding(found)) return { found: "unknown", problem: `\`${record.call.tool}\` cannot be asked now` };
  const hook = found.found.reconcile;
  if (hook === undefined)
    return { found: "unknown", problem: `\`${record.call.tool}\` has no reconcile hook; settle the call by hand` };
  const valid = await checkArguments(found, parts);
  if (isEnding(valid)) return { found: "unknown", problem: "its arguments do not fit the tool's schema any more" };
  const loan = lend(parts.secrets, parts.redactor);
  const body = async (lazy: { readonly signal: AbortSignal }): Promise<Reconciled> =>
    hook(await inputOf(valid, parts.artifacts), contextOf(record, lazy, loan));
  const ran = await runForeign<Reconciled>(body, { limitMs: reconcileTimeoutMs, clock: parts.clock });
  loan.end();
  if (ran.ran === "returned") return ran.value;
  return {
    found: "unknown",
    problem: ran.ran === "threw" ? parts.redactor.redact(failureOf(ran.error).message) : "its reconcile hook timed out",
  };
}

function contextOf(
  { call, key }: CallRecord,
  lazy: { readonly signal: AbortSignal },
  secrets: SecretStore,
): ToolContext {
  return Object.assign(looking(call, key, lazy), {
    secrets,
    frozen: undefined,
    check(): void {
      lazy.signal.throwIfAborted();
    },
    async call(): Promise<never> {
      throw new RuntimeFault("not_while_reconciling", "A reconcile hook looks; it makes no calls.");
    },
  });
}
