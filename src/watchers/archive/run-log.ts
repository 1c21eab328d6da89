import { join } from "node:path";
import type { Actor } from "../../calls/actor.ts";
import type { Principal } from "../../calls/call.ts";
import type { Clock } from "../../calls/clock.ts";
import { messageOf, RuntimeFault } from "../../calls/fault.ts";
import type { JsonObject } from "../../calls/json.ts";
import { brief, type Redact } from "./bounded.ts";
import { EarlyWords } from "./early-words.ts";
import { governanceOf } from "./governance.ts";
import { eventIn, pretty, summaryIn } from "./kept.ts";
import { RunFiles } from "./run-files.ts";
import type { RunEvent, RunSummary, ToolRecord } from "./runs.ts";
import { type Archived, type Spelled, spell } from "./spell.ts";
import { Tally } from "./tally.ts";
import { type ErrorRecord, errorRecord, type Summarize, toolRecord } from "./tool-record.ts";
import { readWholeFile, writeWholeFile } from "./whole-file.ts";

export interface RunLogOptions {
  readonly tenant: string;
  readonly runId: string;
  /** Who begins it; a run that is there already keeps its own. None: whoever calls first. */
  readonly principal: Principal | undefined;
  readonly taskId?: string | undefined;
  /** Makes the folder, also when it went away meanwhile. */
  readonly folder: () => string;
  readonly clock: Clock;
  readonly redact: Redact;
  readonly summarize: Summarize;
  readonly log: (problem: string) => void;
}

interface Own {
  readonly severity?: RunEvent["severity"];
  readonly actor?: string;
  readonly data?: JsonObject;
}

/** One run's three line files, and what they add up to. Everything is added in memory; `flush` writes. */
export class RunLog {
  readonly tally: Tally = new Tally();
  readonly tenant: string;
  readonly runId: string;
  readonly folder: string;
  readonly #options: RunLogOptions;
  readonly #files: RunFiles;
  readonly #early = new EarlyWords();
  #principal: NonNullable<RunSummary["principal"]> | undefined;
  #taskId: string | undefined;
  #expected: readonly string[] = [];
  #missing: readonly string[] | undefined;
  /** Events that could not be kept in memory any longer; they are made up from the audit log. */
  lost = 0;
  #failing = false;
  #unsaved = false;
  /** Whether lines came since the last seal. */
  isUnsealed = false;

  private constructor(options: RunLogOptions) {
    this.#options = options;
    this.tenant = options.tenant;
    this.runId = options.runId;
    this.folder = options.folder();
    this.#principal = options.principal && principalOf(options.principal, options.redact);
    this.#taskId = options.taskId;
    this.#files = new RunFiles(this.folder, options.folder, (path) =>
      options.log(`\`${path}\` was changed by somebody else; \`postern runs verify ${options.runId}\` says more.`),
    );
  }

  /**
   * Goes on where the files end; a new run gets its first event.
   *
   * @param each told of every event that is there already
   */
  static async open(options: RunLogOptions, each: (event: RunEvent) => void = () => {}): Promise<RunLog> {
    const run = new RunLog(options);
    await run.#readSummary();
    await run.#files.events.open((line) => {
      const event = eventIn(line);
      if (event === undefined) return; // somebody has written there; verify names the line
      run.tally.add(event);
      each(event);
    });
    await run.#files.tools.open();
    await run.#files.errors.open();
    if (run.tally.sequence === 0) {
      const told = (name: string): string => brief(name, 300, options.redact);
      const { agent, user } = run.#principal ?? {};
      run.say("run.created", agent === undefined ? "The run was made" : `Run of \`${told(agent)}\``, {
        data: {
          tenant: told(options.tenant),
          ...(agent !== undefined && { agent: told(agent) }),
          ...(user !== undefined && { user: told(user) }),
        },
      });
    }
    return run;
  }

  get isUnsaved(): boolean {
    return this.#unsaved;
  }

  get expected(): readonly string[] {
    return this.#expected;
  }

  take(event: Archived): void {
    if (this.#files.events.isFull) {
      this.lost += 1;
      return;
    }
    const { clock, redact } = this.#options;
    if (event.moment !== "noted") this.#principal ??= principalOf(event.call.authority.principal, redact);
    const spelled = spell(event, clock.now(), redact);
    if (event.moment === "emitted" && !this.tally.open.has(event.call.id)) {
      this.#early.add(event.call.id, spelled);
      return;
    }
    if (event.moment === "ended") {
      this.#sayEarly(event.call.id);
      const startedAt = this.tally.open.get(event.call.id)?.at;
      this.addCall(toolRecord(event, startedAt, this.#options), errorRecord(event, redact));
    }
    const parent = "call" in event ? (event.call.parentId ?? event.call.id) : undefined;
    this.add(spelled, event.moment === "attempted" ? parent : spelled.callId);
    if (event.moment === "attempted") this.#sayEarly(event.call.id);
  }

  /** Something about the run itself. */
  say(type: string, summary: string, { severity = "info", actor = "postern", data = {} }: Own = {}): void {
    const at = this.#options.clock.now();
    this.add({ at, type, summary, severity, actor, data, session_id: null, task_id: this.#taskId ?? null }, undefined);
  }

  /**
   * @param parent the call whose start this belongs to
   * @param start the event it started with, where that is no call that is open
   * @returns the event's id
   */
  add(spelled: Spelled, parent: string | undefined, start?: string): string {
    const { at, callId, ...said } = spelled;
    if (this.tally.sequence === 1 && !said.type.startsWith("run.")) this.start();
    const sequence = this.tally.sequence + 1;
    const parentEvent = (parent === undefined ? undefined : this.tally.startOf(parent)) ?? start;
    const event: RunEvent = {
      event_id: `evt_${this.runId}_${sequence}`,
      sequence,
      run_id: this.runId,
      session_id: said.session_id,
      task_id: said.task_id,
      type: said.type,
      timestamp: new Date(at).toISOString(),
      actor: said.actor,
      severity: said.severity,
      summary: said.summary,
      data: said.data,
      ...(callId !== undefined && { correlation_id: callId }),
      ...(parentEvent !== undefined && { parent_event_id: parentEvent }),
    };
    this.#files.events.add(JSON.stringify(event));
    this.tally.add(event);
    this.#unsaved = true;
    this.isUnsealed = true;
    return event.event_id;
  }

  addCall(record: ToolRecord | undefined, error: ErrorRecord | undefined): void {
    if (record !== undefined) this.#files.tools.add(JSON.stringify(record));
    if (error !== undefined) this.#files.errors.add(JSON.stringify(error));
  }

  /** At the first thing that happens, or when somebody says that it begins. */
  /** @param by who began it by hand; nobody: its first call did */
  start(by?: Actor): void {
    if (this.tally.sequence !== 1) return;
    this.say("run.started", "The run has begun", by === undefined ? {} : { actor: by.by, data: { via: by.via } });
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

  /** Everything that was added is in the files, or false: then it waits, and the log was told once. */
  async flush(isLast = false): Promise<boolean> {
    for (const callId of this.#early.due(isLast)) this.#sayEarly(callId);
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

  get isWaiting(): boolean {
    return this.#files.isWaiting || !this.#early.isEmpty;
  }

  summary(isLive: boolean): RunSummary {
    const { state, firstAt, lastAt, finishedAt, reason, counts } = this.tally;
    const isOver = state === "completed" || state === "failed";
    return {
      run_id: this.runId,
      tenant: this.tenant,
      ...(this.#principal !== undefined && { principal: this.#principal }),
      state: isOver || isLive ? state : "stopped",
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

  /** `run.json` and `session.json` as they are now. */
  async save(isLive: boolean): Promise<void> {
    const sessions = [...this.tally.sessions].map(([session_id, { calls, firstAt, lastAt }]) => ({
      ...{ session_id, calls, first_at: firstAt, last_at: lastAt },
    }));
    const session = {
      run_id: this.runId,
      tenant: this.tenant,
      principal: this.#principal,
      sessions,
      forgotten: this.tally.sessionsForgotten,
    };
    await this.write("session.json", pretty(session));
    this.#unsaved = false;
    const summary = pretty(this.summary(isLive));
    await this.write("run.json", summary).catch((error: unknown) => {
      this.#unsaved = true;
      throw error;
    });
  }

  /** @param text redacted already */
  async write(name: string, text: string): Promise<void> {
    await writeWholeFile(join(this.folder, name), text);
  }

  extents(): ReturnType<RunFiles["extents"]> {
    return this.#files.extents();
  }

  #sayEarly(callId: string): void {
    for (const said of this.#early.take(callId)) this.add(said, callId);
  }

  async #readSummary(): Promise<void> {
    const text = await readWholeFile(join(this.folder, "run.json"));
    const kept = text === undefined ? undefined : summaryIn(text);
    if (kept === undefined) return;
    if (kept.run_id !== this.runId || kept.tenant !== this.tenant) {
      throw new RuntimeFault(
        "run_invalid",
        `\`${this.folder}\` belongs to the run \`${kept.run_id}\` of \`${kept.tenant}\`; choose another run id.`,
      );
    }
    this.#principal = kept.principal;
    this.#taskId = kept.task_id ?? this.#taskId;
    this.#expected = kept.deliverables.expected;
    this.#missing = kept.deliverables.missing;
  }
}

function principalOf({ agent, user }: Principal, redact: Redact): NonNullable<RunSummary["principal"]> {
  return { agent: redact(agent), ...(user !== undefined && { user: redact(user) }) };
}
