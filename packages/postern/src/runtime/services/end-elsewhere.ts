import { type CallRecord, refusal, refusedOutcome } from "@postern/core";
import { readArguments } from "../../call/arrival.ts";
import { finalArguments } from "../../call/ran-with.ts";
import { type Limits, Session } from "../../call/session.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { askTool } from "../../pipeline/reconcile.ts";
import type { FoundEnd } from "../../pipeline/recovery.ts";
import { releasePins } from "../../results/releases.ts";
import type { Store } from "../../store/store.ts";

/** How a call ended that a worker ran for a process that is dead. Returns undefined if that is not known, and for other calls. */
export async function endElsewhere(
  record: CallRecord,
  { parts, store, limits }: { readonly parts: Parts; readonly store: Store; readonly limits: Limits },
): Promise<FoundEnd | undefined> {
  const { tool, action: name, id } = record.call;
  if (parts.workers?.groupOf({ tool, name }) === undefined) return undefined;
  const call = { ...record.call, ...readArguments(await finalArguments(record, store)) };
  const session = new Session(limits, parts.clock);
  try {
    const seen = await askTool({ ...record, call }, session, parts);
    if (seen.found === "failed") {
      const message = parts.redactor.redact(`\`${tool}\` failed: ${seen.reason ?? "its worker says no more"}`);
      return { state: "failed", outcome: refusedOutcome(id, "error", refusal("tool_failed", message)) };
    }
    if (seen.found === "unknown" || seen.outcome === undefined) return undefined;
    return { state: seen.outcome.refusal === undefined ? "ok" : "failed", outcome: seen.outcome };
  } finally {
    if (session.hasPins) await releasePins(session, parts.artifacts, parts.log);
  }
}
