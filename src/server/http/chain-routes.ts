import { given } from "../../core/given.ts";
import type { CallRecord } from "../../core/records.ts";
import type { ChainSummary } from "../../core/scripts.ts";
import type { Runtime } from "../../runtime/api.ts";
import { type chain, chains } from "../contract/chains.ts";
import type { Input } from "../contract/route.ts";
import type { Who } from "../credentials.ts";
import { answerOutcome, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { type Route, serve } from "./route.ts";
import { askerOf, visibleCall } from "./visible.ts";

export const chainRoutes: readonly Route[] = serve(chains, {
  list: async ({ runtime, by, query }) => {
    if (runtime.chains === undefined) return { chains: [], engines: [] };
    const { tenant } = by.principal;
    const { limit = 100, run_id: runId, before } = query;
    const listed = await runtime.chains.list({ tenant, limit, ...askerOf(by), ...given({ runId, before }) });
    const engines = await runtime.chains.engines();
    return {
      chains: listed.map(shown),
      next_before: listed.length === limit ? listed.at(-1)?.callId : undefined,
      engines: engines.map(({ isDown, ...engine }) => ({ ...engine, down: isDown })),
    };
  },
  resume: async ({ runtime, by, part, signal }) => {
    const record = await visibleCall(runtime, by, part("id"));
    if (record !== undefined) await noteGoingOn(runtime, by, record);
    const outcome = record && (await runtime.chains?.resume(record.call.id, { ...askerOf(by), signal }));
    if (outcome !== undefined) return answerOutcome(outcome, record?.call.tool ?? "");
    return problem(
      "call_unknown",
      `No script \`${part("id")}\` waits; \`postern calls show ${part("id")}\` says what became of it.`,
    );
  },
});

function shown({
  callId,
  principal,
  runId,
  imageBytes,
  waiting,
  expiresAt,
  ...script
}: ChainSummary): Input<typeof chain> {
  return {
    ...script,
    call_id: callId,
    requested_by: principal,
    run_id: runId,
    image_bytes: imageBytes,
    waiting: waiting.map(({ approvalId, ...request }) => ({ ...request, approval_id: approvalId })),
    expires_at: expiresAt,
  };
}

/** A person who lets a script go on does it by hand; an agent lets its own go on, and one that still waits goes nowhere. */
async function noteGoingOn(runtime: Runtime, by: Who, { state, call }: CallRecord): Promise<void> {
  if (by.kind !== "person" || (state !== "suspended" && state !== "unknown")) return;
  const { principal, runId } = call.authority;
  const scripts = (await runtime.chains?.list({ runId, limit: 1000 })) ?? [];
  const waiting = scripts.find(({ callId }) => callId === call.id)?.waiting ?? [];
  const asked = await Promise.all(waiting.map(({ approvalId }) => runtime.approvals.get(approvalId)));
  if (asked.length > 0 && asked.every((approval) => approval?.state === "pending")) return;
  await runtime.note("operator.action.call_resumed", `The script of ${principal.agent} is let go on`, {
    ...actorOf(by),
    data: { call_id: call.id, tool: call.tool, run: runId },
  });
}
