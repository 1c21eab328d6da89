/**
 * Run folders: what an agent did, as files that a person can read.
 *
 * Invariant: the folders are a projection of the audit log. No call waits for them; lines are only added, and each entry
 * of the log has its lines once, so projecting again from any position is safe. Projecting again is the recovery.
 * Next: projection.ts (from an entry to its lines), archive.ts (the subscriber and its position), run-log.ts (one run),
 * folders.ts (where folders lie).
 */
import type { Actor, JsonObject, Principal } from "@postern/core";
import type { RunEventView, RunView } from "@postern/core/contract";

/** One line of `events.jsonl`, as written and as sent. */
export type RunEvent = RunEventView;

/** `run.json`, as written and as sent. */
export type RunSummary = RunView;
export type RunState = RunSummary["state"];
export type RunCounts = RunSummary["counts"];
/** What the run may be called after its end, worst reason first. */
export type Governance = RunSummary["governance"];
export type GovernanceReason = Governance["reasons"][number];

/** One line of `logs/tools.jsonl`: how one arrival ended. Summaries and artifact ids, never content. */
export interface ToolRecord {
  readonly call_id: string;
  readonly tool_name: string;
  readonly action: string;
  /** Only if the call was started. */
  readonly started_at?: string;
  readonly completed_at: string;
  readonly duration_ms: number;
  readonly status: "started" | "completed" | "failed" | "blocked";
  readonly args_summary: string;
  /** First 16 hex digits of SHA-256 over the canonical arguments. */
  readonly args_digest: string;
  readonly result_summary?: string;
  readonly artifacts: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
  /** The same call's outcome from before. */
  readonly replayed?: true;
  /** The line comes from the audit log alone, because the process died before it was written. */
  readonly recovered?: true;
  /** The entry of the audit log that the line comes from. */
  readonly audit_seq: number;
}

/** One line of `logs/errors.jsonl`: ErrorInfo, with the rules that refused. */
export interface ErrorRecord {
  readonly timestamp: string;
  readonly call_id: string;
  readonly tool_name: string;
  readonly action: string;
  readonly status: "failed" | "blocked";
  readonly code: string;
  readonly message: string;
  readonly category: "config" | "sandbox" | "skill" | "tool" | "memory" | "engine" | "governance" | "unknown";
  readonly retryable: boolean;
  readonly rules?: readonly string[];
  readonly recovered?: true;
  readonly audit_seq: number;
}

/** Which run. The tenant is `default` unless it is named. */
export interface RunName {
  readonly runId: string;
  readonly tenant?: string;
}

/** What an embedder knows of a run and Postern does not. Texts are redacted and become files of the run. */
export interface RunAbout {
  /** `task.yaml`. */
  readonly task?: string | JsonObject;
  readonly taskId?: string;
  /** `prompt.md`. */
  readonly prompt?: string;
  /** `effective-system-prompt.md`. */
  readonly systemPrompt?: string;
  /** Added to `transcript.md`. */
  readonly transcript?: string;
  /** Files that must lie in `deliverables/` when the run is finished; with a `/` at the end: a folder with something in it. */
  readonly deliverables?: readonly string[];
}

/** @public */
export interface RunFilter {
  readonly tenant?: string;
  readonly agent?: string;
  /** Only runs of this principal. */
  readonly principal?: Principal;
  readonly limit?: number;
  /** A page's `nextAfter`: only those that come after it. */
  readonly after?: string;
}

/** @public */
export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Where the next page begins. Missing on the last page. */
  readonly nextAfter?: string;
}

/** @public */
export interface Runs {
  /**
   * Says what a run is for, before its first call or later. Begins it when nothing has: for an agent (`principal`), or
   * by hand (`by`).
   *
   * @throws RuntimeFault `run_foreign` when `principal` is given and the run is another one's, `request_invalid` for a deliverable outside it
   */
  begin(
    run: RunName,
    about?: RunAbout & { readonly principal?: Principal; readonly by?: Actor | undefined },
  ): Promise<RunSummary>;
  /** Adds to what is known of it; the transcript grows, the rest is replaced. `by`: who does so by hand. */
  describe(run: RunName, about: RunAbout & { readonly by?: Actor | undefined }): Promise<RunSummary>;
  /** Looks for the deliverables, writes the manifest, and says what the run may be called. */
  finish(
    run: RunName,
    ended?: {
      readonly state?: "completed" | "failed";
      readonly reason?: string;
      readonly by?: Actor | undefined;
    },
  ): Promise<RunSummary>;
  /** The latest first, 200 at most unless `limit` says otherwise. */
  list(where?: RunFilter): Promise<readonly RunSummary[]>;
  /** The same, with where the next page begins. */
  page(where?: RunFilter): Promise<RunPage>;
  get(run: RunName): Promise<RunSummary | undefined>;
  /** Events with a sequence above `after`, in order, 200 at most unless `limit` says otherwise. */
  events(
    run: RunName,
    where?: { readonly after?: number; readonly limit?: number; readonly type?: string },
  ): Promise<readonly RunEvent[] | undefined>;
  /** Lines of `logs/tools.jsonl`, the latest last, 200 at most unless `limit` says otherwise. */
  calls(run: RunName, limit?: number): Promise<readonly ToolRecord[] | undefined>;
  /** Everything announced so far is in the files when this resolves, as far as they can be written. */
  flush(): Promise<void>;
}
