import { join } from "node:path";
import {
  type Actor,
  type Clock,
  type JsonObject,
  messageOf,
  momentNames,
  type Principal,
  RuntimeFault,
} from "@postern/core";
import { readWhole, writeWholeUnsynced } from "../../system/whole-file.ts";
import { brief } from "./bounded.ts";
import { governanceOf } from "./governance.ts";
import { type EmittedEvent, emitted, project, type UnnumberedEvent } from "./projection.ts";
import { pretty, summaryIn } from "./reading.ts";
import type { LiveEvent, LogEntry, ProjectionOptions } from "./records.ts";
import { type LineFileName, RunFiles } from "./run-files.ts";
import type { RunEvent, RunSummary } from "./runs.ts";
import { Tally } from "./tally.ts";

export interface RunLogOptions extends ProjectionOptions {
  readonly tenant: string;
  readonly runId: string;
  /** Who begins it. A run that exists keeps its own; without one, the first caller becomes its owner. */
  readonly principal: Principal | undefined;
  readonly taskId?: string | undefined;
  /** Entries of the audit log from here on may be projected again; earlier ones have their lines. */
  readonly from: number;
  /** Makes the folder, also if it was removed. */
  readonly folder: () => string;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

interface OwnEvent {
  readonly severity?: RunEvent["severity"];
  readonly actor?: string;
  readonly data?: JsonObject;
}

/** Calls whose tool spoke before their start was in the log. */
const mostEarly = 1_000;

/** One run's three files of lines, and what they add up to. Lines wait in memory until `flush` writes them. */
export class RunLog {
  readonly tally: Tally = new Tally();
  readonly tenant: string;
  readonly runId: string;
  readonly folder: string;
  readonly #options: RunLogOptions;
  readonly #files: RunFiles;
  /** The last entry that was projected here. */
  #lastSeq = -1;
  /** A tool may emit before the entry of its start is announced: a queued claim is announced after its commit. */
  readonly #early = new Map<string, UnnumberedEvent[]>();
  #principal: NonNullable<RunSummary["principal"]> | undefined;
  #taskId: string | undefined;
  #expected: readonly string[] = [];
  #missing: readonly string[] | undefined;
  /** Entries that found no room in memory. They are projected again when the files can be written. */
  lost = 0;
  #failing = false;
  #unsaved = false;
  /** Whether something came since the last manifest. */
  isManifestOld = false;

  private constructor(options: RunLogOptions) {
    this.#options = options;
    this.tenant = options.tenant;
    this.runId = options.runId;
    this.folder = options.folder();
    this.#principal = options.principal && this.#shown(options.principal);
    this.#taskId = options.taskId;
    const changed = (path: string): void =>
      options.log(`Another process changed \`${path}\`; \`postern audit show\` has what happened.`);
    const { from, folder: remake } = options;
    this.#files = new RunFiles({ folder: this.folder, remake, changed, from });
  }

  /** Continues where the files end. A new run gets its first event. */
  static async open(options: RunLogOptions): Promise<RunLog> {
    const run = new RunLog(options);
    await run.#readSummary();
    await run.#files.open((event) => run.tally.add(event));
    if (run.tally.sequence > 0) return run;
    const { agent, user } = run.#principal ?? {};
    const shown = (name: string): string => brief(name, 300, options.redact);
    run.record("run.created", agent === undefined ? "The run was made" : `Run of \`${shown(agent)}\``, {
      data: {
        tenant: shown(options.tenant),
        ...(agent !== undefined && { agent: shown(agent) }),
        ...(user !== undefined && { user: shown(user) }),
      },
    });
    return run;
  }

  get isUnsaved(): boolean {
    return this.#unsaved;
  }

  get isWaiting(): boolean {
    return this.#files.isWaiting;
  }

  get expected(): readonly string[] {
    return this.#expected;
  }

  /** Adds the lines of an entry that the files lack. Doing it again adds nothing. */
  take(entry: LogEntry, live?: LiveEvent): void {
    const { seq, type, refs, principal, timestamp } = entry;
    if (seq <= this.#lastSeq) return;
    if (this.lost > 0 || this.#files.isFull) {
      this.lost += 1;
      return;
    }
    this.#lastSeq = seq;
    const callId = refs.tool_call;
    const start = callId === undefined ? undefined : this.tally.startOf(callId);
    const { event, parent, record, error } = project(entry, start ?? {}, { ...this.#options, live });
    if (callId !== undefined) this.#principal ??= principal && this.#shown(principal);
    const lacks = (name: LineFileName): boolean => !this.#files.has(name, seq, timestamp);
    if (record !== undefined && lacks("logs/tools.jsonl")) this.#files.add("logs/tools.jsonl", record);
    if (error !== undefined && lacks("logs/errors.jsonl")) this.#files.add("logs/errors.jsonl", error);
    const isStart = type === momentNames.attempted.audit;
    if (callId !== undefined && !isStart) this.#addEarly(callId);
    if (lacks("events.jsonl")) this.add(event, parent);
    if (callId !== undefined && isStart) this.#addEarly(callId);
  }

  /** @param at wall clock, milliseconds */
  takeEmitted(event: EmittedEvent, at: number): void {
    const callId = event.call.id;
    const line = emitted(event, at, this.#options.redact);
    if (this.tally.open.has(callId) || this.#early.size >= mostEarly) this.add(line, callId);
    else this.#early.set(callId, [...(this.#early.get(callId) ?? []), line]);
  }

  /** Something about the run itself. */
  record(type: string, summary: string, { severity = "info", actor = "postern", data = {} }: OwnEvent = {}): void {
    const timestamp = new Date(this.#options.clock.now()).toISOString();
    this.add({ session_id: null, task_id: this.#taskId ?? null, type, timestamp, actor, severity, summary, data });
  }

  /** @param parent the call whose start this belongs to */
  add({ correlation_id, ...event }: UnnumberedEvent, parent?: string): void {
    if (this.tally.sequence === 1 && !event.type.startsWith("run.")) this.start();
    const sequence = this.tally.sequence + 1;
    const parentEvent = parent === undefined ? undefined : this.tally.startOf(parent)?.eventId;
    const numbered: RunEvent = {
      ...{ event_id: `evt_${this.runId}_${sequence}`, sequence, run_id: this.runId },
      ...event,
      ...(correlation_id !== undefined && { correlation_id }),
      ...(parentEvent !== undefined && { parent_event_id: parentEvent }),
    };
    this.#files.add("events.jsonl", numbered);
    this.tally.add(numbered);
    this.#unsaved = true;
    this.isManifestOld = true;
  }

  /** @param by who began it by hand; without one its first call did */
  start(by?: Actor): void {
    if (this.tally.sequence !== 1) return;
    this.record("run.started", "The run has begun", by === undefined ? {} : { actor: by.by, data: { via: by.via } });
  }

  expect(paths: readonly string[]): void {
    this.#expected = paths;
    this.#unsaved = true;
  }

  nameTask(taskId: string): void {
    this.#taskId = brief(taskId, 200, this.#options.redact);
    this.#unsaved = true;
  }

  miss(paths: readonly string[]): void {
    this.#missing = paths;
    this.#unsaved = true;
  }

  /** Resolves to false if the lines still wait; then the log has one line about it. */
  async flush(isLast = false): Promise<boolean> {
    if (isLast) for (const callId of this.#early.keys()) this.#addEarly(callId);
    try {
      await this.#files.flush();
      if (this.#failing) this.#options.log(`The run \`${this.runId}\` can be written again.`);
      this.#failing = false;
      return true;
    } catch (error) {
      if (!this.#failing)
        this.#options.log(`The run \`${this.runId}\` cannot be written now: ${messageOf(error)}. Its lines wait.`);
      this.#failing = true;
      return false;
    }
  }

  summary(isLive: boolean): RunSummary {
    const { firstAt, lastAt, finishedAt, reason, counts } = this.tally;
    return {
      run_id: this.runId,
      tenant: this.tenant,
      ...(this.#principal !== undefined && { principal: this.#principal }),
      state: this.#stateNow(isLive),
      ...(this.#taskId !== undefined && { task_id: this.#taskId }),
      ...(reason !== undefined && { reason }),
      created_at: firstAt,
      last_event_at: lastAt,
      ...(finishedAt !== undefined && { finished_at: finishedAt }),
      counts,
      deliverables: {
        expected: this.#expected,
        ...(this.#missing !== undefined && { missing: this.#missing }),
      },
      governance: governanceOf(this.tally, this.#missing ?? [], this.lost),
    };
  }

  #stateNow(isLive: boolean): RunSummary["state"] {
    const { state, waiting, open } = this.tally;
    if (state === "completed" || state === "failed") return state;
    if (waiting.size > 0 && open.size === 0) return "waiting";
    return isLive ? state : "stopped";
  }

  /** `run.json` and `session.json` as they are now. */
  async save(isLive: boolean): Promise<void> {
    const sessions = [...this.tally.sessions].map(([session_id, { calls, firstAt, lastAt }]) => ({
      ...{ session_id, calls, first_at: firstAt, last_at: lastAt },
    }));
    const session = {
      ...{ run_id: this.runId, tenant: this.tenant, principal: this.#principal, sessions },
      forgotten: this.tally.sessionsForgotten,
    };
    await this.write("session.json", pretty(session));
    this.#unsaved = false;
    await this.write("run.json", pretty(this.summary(isLive))).catch((error: unknown) => {
      this.#unsaved = true;
      throw error;
    });
  }

  /** @param text redacted already */
  async write(name: string, text: string): Promise<void> {
    await writeWholeUnsynced(join(this.folder, name), text);
  }

  #shown({ agent, user }: Omit<Principal, "tenant">): NonNullable<RunSummary["principal"]> {
    const { redact } = this.#options;
    return { agent: redact(agent), ...(user !== undefined && { user: redact(user) }) };
  }

  #addEarly(callId: string): void {
    const lines = this.#early.get(callId) ?? [];
    this.#early.delete(callId);
    for (const line of lines) this.add(line, callId);
  }

  async #readSummary(): Promise<void> {
    const text = await readWhole(join(this.folder, "run.json"));
    const found = text === undefined ? undefined : summaryIn(text);
    if (found === undefined) return;
    if (found.run_id !== this.runId || found.tenant !== this.tenant) {
      throw new RuntimeFault(
        "request_invalid",
        `\`${this.folder}\` belongs to the run \`${found.run_id}\` of \`${found.tenant}\`; choose another run id.`,
      );
    }
    this.#principal = found.principal;
    this.#taskId = found.task_id ?? this.#taskId;
    this.#expected = found.deliverables.expected;
    this.#missing = found.deliverables.missing;
  }
}
