import type { Clock, Preview } from "@postern/core";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { failureOf } from "../tools/failure.ts";
import { toPreview } from "../tools/previewed.ts";
import { runForeign } from "../tools/run-foreign.ts";
import type { PreviewContext } from "../tools/tool.ts";
import type { Previewed, PreviewFor } from "./gates/approval.ts";
import { inputOf } from "./input.ts";
import { readOnlyContext } from "./read-only-context.ts";

export interface PreviewParts {
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/** A person waits for it, so its limit is shorter than the limit of the call. */
const previewTimeoutMs = 10_000;

/**
 * Runs the tool's own preview, without secrets and child calls. Never throws: a preview that fails is shown as failed,
 * and the request still waits. Returns undefined when the tool has no preview.
 */
export async function preview(call: Previewed, caller: PreviewFor, parts: PreviewParts): Promise<Preview | undefined> {
  const show = call.found.preview;
  if (show === undefined) return undefined;
  const body = async (lazy: { readonly signal: AbortSignal }): Promise<unknown> =>
    show(await inputOf(call, parts.artifacts), contextOf(call, lazy, caller));
  const limitMs = Math.min(previewTimeoutMs, caller.session?.remainingMs() ?? previewTimeoutMs);
  const ran = await runForeign<unknown>(body, {
    limitMs,
    signal: caller.signal,
    deadline: caller.deadline,
    clock: parts.clock,
  });
  const words = `${call.tool}(${call.text.length > 300 ? `${call.text.slice(0, 299).toWellFormed()}…` : call.text})`;
  if (ran.ran === "returned") return redactJson(toPreview(ran.value, words), parts.redactor); // the preview is stored too
  const problem = ran.ran === "threw" ? parts.redactor.redact(failureOf(ran.error).message) : ran.ran.replace("_", " ");
  return { summary: `The preview of \`${call.tool}\` failed.`, supported: false, problem };
}

function contextOf(call: Previewed, lazy: { readonly signal: AbortSignal }, caller: PreviewFor): PreviewContext {
  return Object.assign(readOnlyContext(call, call.key, lazy), {
    check(): void {
      caller.signal?.throwIfAborted();
    },
  });
}
