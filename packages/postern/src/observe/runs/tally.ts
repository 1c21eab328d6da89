import { endEvents, isJsonObject, type JsonObject, momentNames } from "@postern/core";
import type { RunCounts, RunEvent, RunState } from "./runs.ts";

/** A call's `tool.started`. `at` is missing once the call has left without an end. */
interface Start {
  readonly eventId: string;
  readonly at?: string;
  readonly digest: string;
}

/** Of more than this, only the number is known. */
const mostKept = 10_000;

/**
 * Counts a run's events. Each event is added once, when it is written or when the file is read again, so a reopened run has
 * the same counts.
 */
export class Tally {
  sequence = 0;
  firstAt = "";
  lastAt = "";
  state: Exclude<RunState, "waiting" | "stopped"> = "started";
  finishedAt: string | undefined;
  reason: string | undefined;
  /** Events after the one that ended the run. */
  late = 0;
  errors = 0;
  readonly #ends = { completed: 0, failed: 0, blocked: 0, previewed: 0, replayed: 0 };
  #started = 0;
  /** Calls that were started and have not ended: their event and when. */
  readonly open: Map<string, Start> = new Map();
  /** Starts of calls that left without an end: a script that waited, or whose process died, continues as the same call. */
  readonly #left: Map<string, Start> = new Map();
  /** Undecided approvals. */
  readonly waiting: Set<string> = new Set();
  /** Calls that may have happened. */
  readonly unknown: Set<string> = new Set();
  /** Why something unsafe was refused: how often, and the first. */
  readonly unsafe: Map<string, { readonly first: string; readonly times: number }> = new Map();
  /** Digests and their owners. */
  readonly artifacts: Map<string, { readonly agent: string; readonly user?: string }> = new Map();
  readonly sessions: Map<string, { calls: number; readonly firstAt: string; lastAt: string }> = new Map();
  sessionsForgotten = 0;

  get counts(): RunCounts {
    return {
      events: this.sequence,
      started: this.#started,
      ...this.#ends,
      unknown: this.unknown.size,
      waiting: this.waiting.size,
      errors: this.errors,
      artifacts: this.artifacts.size,
    };
  }

  /** The event that a call's later events belong to; also if it continues in another process, as a new arrival. */
  startOf(callId: string): Start | undefined {
    return this.open.get(callId) ?? this.#left.get(callId);
  }

  add(event: RunEvent): void {
    this.sequence = event.sequence;
    if (this.firstAt === "") this.firstAt = event.timestamp;
    this.lastAt = event.timestamp;
    if (event.severity === "error") this.errors += 1;
    const { data } = event;
    // A refused call of another principal has its line, and does not count.
    const isForeign = data["code"] === "run_foreign";
    if (this.finishedAt !== undefined && !event.type.startsWith("run.") && !isForeign) this.late += 1;
    if (event.type.startsWith("run.")) this.#addRun(event, data);
    else if (event.type.startsWith("tool.")) this.#addTool(event, data);
    else if (event.type.startsWith("approval.")) this.waiting.delete(textIn(data, "approval_id"));
    else if (event.type === "file.rejected") this.#addUnsafe("path_rejected", event.summary);
  }

  #addRun({ type, timestamp }: RunEvent, data: JsonObject): void {
    if (type !== "run.completed" && type !== "run.failed") return;
    this.state = type === "run.completed" ? "completed" : "failed";
    this.finishedAt = timestamp;
    this.late = 0;
    const reason = data["reason"];
    this.reason = typeof reason === "string" ? reason : undefined;
  }

  #addTool(event: RunEvent, data: JsonObject): void {
    const { type, timestamp: at, event_id: eventId, correlation_id: callId = "" } = event;
    if (this.state === "started") this.state = "running";
    this.#addSession(event);
    switch (type) {
      case "tool.started":
        this.#started += 1;
        if (this.open.size < mostKept) this.open.set(callId, { eventId, at, digest: textIn(data, "args_digest") });
        return;
      case "tool.waiting":
        this.#leave(callId);
        // A script is put away because calls of its own wait, and starts again as another arrival.
        if (textIn(data, "audit") === endEvents.suspended.audit) this.#started -= 1;
        else if (textIn(data, "audit") === momentNames.held.audit && this.waiting.size < mostKept)
          this.waiting.add(textIn(data, "approval_id"));
        return;
      case "tool.completed":
      case "tool.failed":
      case "tool.blocked":
        if (data["audit"] === "tool_call.unknown") this.#leave(callId);
        this.open.delete(callId);
        this.#addEnd(event, data, callId);
    }
  }

  #leave(callId: string): void {
    const started = this.open.get(callId);
    if (started !== undefined && this.#left.size < mostKept)
      this.#left.set(callId, { eventId: started.eventId, digest: started.digest });
    this.open.delete(callId);
  }

  #addEnd({ type, summary }: RunEvent, data: JsonObject, callId: string): void {
    const audit = textIn(data, "audit");
    const code = textIn(data, "code");
    // A call that was settled had failed until then; one that is answered again runs nothing.
    if (audit === endEvents.settled.audit && this.unknown.delete(callId)) this.#ends.failed -= 1;
    const as = endedAs(type, audit);
    this.#ends[as] += 1;
    if (audit === endEvents.unknown.audit && this.unknown.size < mostKept) this.unknown.add(callId);
    if (unsafeCodes.has(code)) this.#addUnsafe(code, summary);
    const { artifacts, artifacts_of: of } = data;
    if (!Array.isArray(artifacts)) return;
    const user = of !== undefined && isJsonObject(of) ? textIn(of, "user") : "";
    const agent = of !== undefined && isJsonObject(of) ? textIn(of, "agent") : "";
    for (const digest of artifacts) {
      if (typeof digest === "string" && this.artifacts.size < mostKept)
        this.artifacts.set(digest, { agent, ...(user !== "" && { user }) });
    }
  }

  #addUnsafe(code: string, summary: string): void {
    const known = this.unsafe.get(code);
    this.unsafe.set(code, { first: known?.first ?? summary, times: (known?.times ?? 0) + 1 });
  }

  #addSession({ session_id: id, type, timestamp }: RunEvent): void {
    if (id === null) return;
    const known = this.sessions.get(id);
    const calls = type === "tool.started" ? 1 : 0;
    if (known !== undefined) {
      known.calls += calls;
      known.lastAt = timestamp;
      return;
    }
    if (this.sessions.size >= mostSessions) {
      for (const oldest of this.sessions.keys()) {
        this.sessions.delete(oldest);
        this.sessionsForgotten += 1;
        break;
      }
    }
    this.sessions.set(id, { calls, firstAt: timestamp, lastAt: timestamp });
  }
}

const mostSessions = 200;

/** A missing permission, or a secret in the wrong place. A denial by an approver is not unsafe. */
const unsafeCodes: ReadonlySet<string> = new Set([
  "permission_denied",
  "scope_missing",
  "blocked",
  "secret_in_arguments",
  "artifact_unavailable",
]);

function endedAs(type: string, audit: string): "completed" | "failed" | "blocked" | "previewed" | "replayed" {
  if (audit === endEvents.deduped.audit) return "replayed";
  if (audit === endEvents.previewed.audit) return "previewed";
  return type === "tool.completed" ? "completed" : type === "tool.failed" ? "failed" : "blocked";
}

function textIn(data: JsonObject, name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}
