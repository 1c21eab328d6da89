/** wire.ts and wire-tools.ts backwards: what an agent's loop needs of what a Postern in another process answered. */
import type { RunOffer } from "../../agents/run-tools.ts";
import { given } from "../../core/given.ts";
import type { ContentBlock, ToolOutcome } from "../../core/outcome.ts";
import type { SessionCall } from "../../runtime/api.ts";
import type { CallFields } from "./calls.ts";
import type { OutcomeView } from "./outcome.ts";
import type { ToolView } from "./tools.ts";
import { innerNames } from "./wire.ts";

/** A request that is still open is pending, also when the caller has waited for it. */
export function outcomeFromWire(wire: OutcomeView): ToolOutcome {
  const { call_id: callId, text, structured, artifact, summary, preview, marks, refusal, status } = wire;
  const expiresAt = wire.expires_at === undefined ? undefined : Date.parse(wire.expires_at);
  return given({
    ...{ status: wire.how_to_approve === undefined ? status : "pending", callId, text, structured, artifact },
    ...{ summary, preview, marks, refusal, expiresAt },
    content: wire.content.map(blockFromWire),
    files: wire.files?.map(({ path, media_type: mediaType, artifact: digest }) => ({
      path,
      mediaType,
      artifact: digest,
    })),
    approvalId: wire.approval_id,
    replayed: wire.replayed,
    timedOut: wire.timed_out,
  }) as unknown as ToolOutcome; // each status came with its members
}

function blockFromWire(block: OutcomeView["content"][number]): ContentBlock {
  const members = Object.entries(block).map(([name, value]) => [innerNames.get(name) ?? name, value]);
  return Object.fromEntries(members) as ContentBlock; // it was one on the other side
}

export function offerFromWire(wire: ToolView): RunOffer {
  const { tool, action: name, description, kind, provider_specs: providerSpecs, server } = wire;
  return {
    ...{ tool, name, description, kind, inputSchema: wire.input_schema, deferLoading: false },
    concurrencySafe: wire.concurrency_safe,
    ...(providerSpecs !== undefined && { providerSpecs }),
    facts: server === undefined ? {} : { server },
  };
}

export function contextToWire({ taskId, stepId, traceId, toolCallId, reason }: SessionCall): Partial<CallFields> {
  return given({ task_id: taskId, step_id: stepId, trace_id: traceId, tool_call_id: toolCallId, reason });
}
