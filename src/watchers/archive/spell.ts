import type { ToolCall } from "../../calls/call.ts";
import { type CallEvent, type EndName, endWords, type NotedEvent, words } from "../../calls/event.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { RefusalCode } from "../../calls/refusals.ts";
import { brief, briefData, type Redact } from "./bounded.ts";
import type { RunEvent } from "./runs.ts";

/** An event before its run gives it a number. */
export interface Spelled
  extends Pick<RunEvent, "type" | "actor" | "severity" | "summary" | "data" | "session_id" | "task_id"> {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly callId?: string;
}

type Of<Moment extends CallEvent["moment"]> = Extract<CallEvent, { readonly moment: Moment }>;
export type Archived = Of<"held" | "decided" | "attempted" | "emitted" | "ended" | "noted">;

const nameBytes = 200;
const summaryBytes = 300;
const dataBytes = 1_600;
const mostArtifacts = 6;
/** Ours alone: what verify holds against the audit log, and what a run's state is made of. */
const reserved = /^(?:tool|run|approval|deliverable|config|prompt|error)(?:\.|$)/;
const wellSpelled = /^[a-z0-9_]{1,40}(?:\.[a-z0-9_]{1,40}){0,3}$/;

/** SPEC 7.5, 14.3: what the archive tells of a moment. `audit` in the data is the event of the log that says the same. */
export function spell(event: Archived, now: number, redact: Redact): Spelled {
  switch (event.moment) {
    case "held":
      return ofCall(event, redact, {
        type: words.held.archive,
        summary: "needs a person",
        data: { audit: words.held.audit, approval_id: event.approvalId, risk: event.weighing.risk },
      });
    case "decided":
      return decided(event, redact);
    case "attempted":
      return ofCall(event, redact, {
        type: words.attempted.archive,
        summary: "started",
        data: {
          audit: words.attempted.audit,
          risk: event.weighing.risk,
          ...(event.approvalId !== undefined && { approval_id: event.approvalId }),
        },
      });
    case "emitted":
      return emitted(event, now, redact);
    case "ended":
      return ended(event, redact);
    case "noted":
      return noted(event, redact);
  }
}

function decided({ call, at, approvalId, as, by, reason }: Of<"decided">, redact: Redact): Spelled {
  return {
    ...ofCall({ call, at }, redact, {
      type: `approval.${as}`,
      summary: as,
      data: {
        audit: `${words.decided.audit}.${as}`,
        approval_id: approvalId,
        ...(reason !== undefined && { reason: brief(reason, summaryBytes, redact) }),
      },
    }),
    actor: brief(by, nameBytes, redact),
  };
}

function ended(event: Of<"ended">, redact: Redact): Spelled {
  const { call, at, as, outcome, latencyMs, code, approvalId, by, weighing } = event;
  const { archive, record } = endAs(as, outcome.status, code);
  const artifacts = artifactsOf(outcome);
  const said: Spelled = ofCall({ call, at }, redact, {
    type: archive,
    summary: code === undefined ? record : `${record}: ${code}`,
    severity: record === "failed" ? "error" : record === "blocked" ? "warning" : "info",
    data: {
      audit: endWords[as].audit,
      status: record,
      duration_ms: rounded(latencyMs),
      ...(weighing !== undefined && { risk: weighing.risk }),
      ...(code !== undefined && { code }),
      ...(approvalId !== undefined && { approval_id: approvalId }),
      ...(artifacts.length > 0 && {
        artifacts: artifacts.slice(0, mostArtifacts),
        artifacts_of: ownerIn(call.authority.principal, redact),
      }),
    },
  });
  return by === undefined ? said : { ...said, actor: brief(by, nameBytes, redact) };
}

function emitted({ call, type, summary, data }: Of<"emitted">, now: number, redact: Redact): Spelled {
  const named = wellSpelled.test(type) && !reserved.test(type);
  return ofCall({ call, at: now }, redact, {
    type: named ? type : "emitted.other",
    summary: brief(summary, summaryBytes, redact),
    severity: /\.(?:rejected|failed)$/.test(type) ? "warning" : "info",
    data: {
      ...(!named && { as: brief(type, nameBytes, redact) }),
      ...(data !== undefined && { said: briefData(data, dataBytes, redact) }),
    },
  });
}

function noted({ at, type, summary, traceId, by, data, outcome }: NotedEvent, redact: Redact): Spelled {
  const named = wellSpelled.test(type) && !reserved.test(type);
  return {
    at,
    type: named ? type : "noted.other",
    actor: brief(by ?? "postern", nameBytes, redact),
    severity: outcome === "failure" ? "warning" : "info",
    summary: brief(summary, summaryBytes, redact),
    session_id: traceId,
    task_id: null,
    data: {
      ...(!named && { as: brief(type, nameBytes, redact) }),
      ...(data !== undefined && { said: briefData({ data }, dataBytes, redact) }),
    },
  };
}

interface Said {
  readonly type: string;
  /** After the tool's name. */
  readonly summary: string;
  readonly data: JsonObject;
  readonly severity?: RunEvent["severity"];
}

function ofCall({ call, at }: Pick<Of<"ended">, "call" | "at">, redact: Redact, said: Said): Spelled {
  const { authority, id, tool, action } = call;
  const { principal, taskId, traceId } = authority;
  const name = brief(tool, nameBytes, redact);
  const isOwnWord = said.data["audit"] === undefined;
  return {
    at,
    type: said.type,
    actor: brief(principal.agent, nameBytes, redact),
    severity: said.severity ?? "info",
    summary: isOwnWord ? said.summary : `\`${name}\` ${said.summary}`,
    session_id: traceId,
    task_id: taskId === undefined ? null : brief(taskId, nameBytes, redact),
    data: { tool: name, ...(action !== "default" && { action: brief(action, nameBytes, redact) }), ...said.data },
    callId: id,
  };
}

/**
 * What was replayed or settled ended as its outcome says, and that may be anything. A caller whose wait for a person ran
 * out was refused nothing: the request is open still.
 */
export function endAs(
  as: EndName,
  status: string,
  code: string | undefined,
): { readonly archive: string; readonly record: "started" | "completed" | "failed" | "blocked" } {
  if (code === waitRanOut) return endWords.suspended;
  if (as !== "deduped" && as !== "settled") return endWords[as];
  if (status === "ok" || status === "preview") return endWords.succeeded;
  if (status === "pending") return endWords.suspended;
  return status === "denied" ? endWords.refused : endWords.failed;
}

const waitRanOut: RefusalCode = "approval_timed_out";

/** What did not go well says why, in its records. A preview refuses nothing, and is not what was asked for either. */
export function codeOfEnd(audit: string, code: string | undefined): string {
  return code ?? (audit === endWords.previewed.audit ? "preview_only" : "tool_failed");
}

/** Whom the artifacts were released to. */
function ownerIn({ agent, user }: ToolCall["authority"]["principal"], redact: Redact): JsonObject {
  const told = (name: string): string => brief(name, nameBytes, redact);
  return { agent: told(agent), ...(user !== undefined && { user: told(user) }) };
}

/** Digests of everything the outcome refers to. */
export function artifactsOf(outcome: Of<"ended">["outcome"]): readonly string[] {
  const { artifact, files = [], content } = outcome;
  const media = content.flatMap((block) =>
    "artifact" in block && block.artifact !== undefined ? [block.artifact] : [],
  );
  const all = [...(artifact === undefined ? [] : [artifact]), ...files.map((file) => file.artifact), ...media];
  return [...new Set(all)];
}

/** Milliseconds with three decimals, as the audit log has them. */
export function rounded(ms: number): number {
  return Number.isFinite(ms) ? Math.round(ms * 1000) / 1000 : 0;
}
