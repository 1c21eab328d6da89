import type { Actor } from "../../calls/actor.ts";
import type { Principal } from "../../calls/call.ts";
import type { Clock } from "../../calls/clock.ts";
import { messageOf, RuntimeFault } from "../../calls/fault.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { RunFolders } from "../../calls/run-folders.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Redact } from "./bounded.ts";
import { folderName } from "./folders.ts";
import { sealOf, writeFirstPapers, writeManifest } from "./papers.ts";
import { RunLog } from "./run-log.ts";
import type { Summarize } from "./tool-record.ts";

export interface OpenRunsOptions {
  readonly folders: RunFolders;
  readonly clock: Clock;
  /** Writes into the audit log. */
  readonly note: (
    type: string,
    summary: string,
    more: Partial<Actor> & { readonly tenant: string; readonly outcome?: "success"; readonly data: JsonObject },
  ) => Promise<void>;
  readonly redact: Redact;
  readonly summarize: Summarize;
  readonly artifacts?: Pick<ArtifactStore, "openStream">;
  readonly log: (problem: string) => void;
  /** The effective configuration, as YAML; kept with each run that begins. */
  readonly config?: string | undefined;
}

/** Which run, and whose it becomes when it is new. */
export interface RunOwner {
  readonly tenant: string;
  readonly runId: string;
  /** Nobody's yet: of what was noted about it, or said of it by hand. */
  readonly principal?: Principal | undefined;
  readonly taskId?: string | undefined;
}

const mostOpen = 256;
const mostRefused = 1_000;
const idleMs = 3_600_000;
export const sealType = "run.archived";
/** `operator.action.run_begun`, `…run_described`, `…run_finished`. */
export const byHandType = "operator.action.run_";

/** The runs that are written now. One that nobody has written to for an hour is sealed and let go. */
export class OpenRuns {
  readonly #options: OpenRunsOptions;
  /** The one that was used last is the last. */
  readonly #runs: Map<string, RunLog> = new Map();
  /** What cannot be a run, whatever the disk says: told once. */
  readonly #refused: Set<string> = new Set();
  #failed = false;
  /** The log was told that runs cannot be opened, or not saved; once until they can. */
  readonly #told: Set<"open" | "save"> = new Set();

  constructor(options: OpenRunsOptions) {
    this.#options = options;
  }

  /** Undefined: nothing of it is in memory. */
  get(tenant: string, runId: string): RunLog | undefined {
    return this.#runs.get(keyOf(tenant, runId));
  }

  all(): readonly RunLog[] {
    return [...this.#runs.values()];
  }

  /** @throws RuntimeFault `run_invalid` for what no folder can be named after */
  checkName(tenant: string, runId: string): void {
    folderName(tenant, runId);
    if (this.#options.redact(runId) !== runId)
      throw new RuntimeFault("run_invalid", "The run's id holds a secret; a folder cannot be named so.");
  }

  /** @throws RuntimeFault `run_invalid` for what cannot be a run; and what the disk says */
  async open({ tenant, runId, principal, taskId }: RunOwner): Promise<RunLog> {
    const { folders, clock, redact, summarize, log, config } = this.#options;
    const key = keyOf(tenant, runId);
    const known = this.#runs.get(key);
    if (known !== undefined) return known;
    this.checkName(tenant, runId);
    const folder = (): string => folders.open(tenant, runId);
    const run = await RunLog.open({ tenant, runId, principal, taskId, folder, clock, redact, summarize, log });
    const isNew = run.tally.sequence === 1;
    await run.save(true); // so that every folder says whose it is, also after a kill
    if (isNew) await writeFirstPapers(run, config, redact);
    this.#runs.set(key, run);
    return run;
  }

  /** Undefined: it cannot be written, now or ever; the log was told. */
  async tryOpen(owner: RunOwner): Promise<RunLog | undefined> {
    const { tenant, runId } = owner;
    const key = keyOf(tenant, runId);
    const known = this.#runs.get(key);
    if (known !== undefined || this.#refused.has(key)) return known;
    try {
      const run = await this.open(owner);
      this.#told.delete("open");
      return run;
    } catch (error) {
      const { log, redact } = this.#options;
      const isForEver = error instanceof RuntimeFault;
      if (isForEver || !this.#told.has("open"))
        log(redact(`The run \`${runId}\` is not archived: ${messageOf(error)}`));
      if (isForEver) {
        if (this.#refused.size < mostRefused) this.#refused.add(key);
        return undefined;
      }
      this.#told.add("open");
      this.#failed = true;
      return undefined;
    }
  }

  /** Whether a run could not be opened since this was asked last, and may be later. */
  takeFailed(): boolean {
    const failed = this.#failed;
    this.#failed = false;
    return failed;
  }

  /** All of them are written out, or false. */
  async flush(isLast: boolean): Promise<boolean> {
    const waiting = this.all().filter((run) => run.isWaiting);
    const written = await Promise.all(waiting.map((run) => run.flush(isLast)));
    return written.every(Boolean);
  }

  async save(): Promise<void> {
    for (const run of this.all()) if (run.isUnsaved) await this.#trySave(run, true);
  }

  /** Those nobody has used for long, the oldest first when there are too many; a call that runs keeps its run. */
  async evict(): Promise<void> {
    const now = this.#options.clock.now();
    let tooMany = this.#runs.size - mostOpen;
    for (const run of this.all()) {
      const isIdle = now - Date.parse(run.tally.lastAt) > idleMs;
      if ((tooMany <= 0 && !isIdle) || run.tally.open.size > 0 || run.isWaiting) continue;
      tooMany -= 1;
      await this.letGo(run);
    }
  }

  async letGo(run: RunLog): Promise<void> {
    if (run.isUnsealed) await this.seal(run);
    await this.#trySave(run, false);
    this.#runs.delete(keyOf(run.tenant, run.runId));
  }

  /** By whoever finished it, or by itself. Manifest and digests, as an event of the audit log: whoever changes the folder later must change that log too. */
  async seal(run: RunLog, by?: Actor): Promise<void> {
    const { artifacts, clock, note, log } = this.#options;
    if (!(await run.flush(true)) || run.isWaiting) return; // the log was told; the next seal covers it
    try {
      await writeManifest(run, artifacts, clock.now());
      const { state, governance } = run.summary(true);
      const said = { run_id: run.runId, events: run.tally.sequence, state, governance: governance.result };
      const data: JsonObject = { ...said, files: await sealOf(run) };
      await note(sealType, `Run ${run.runId} sealed at event ${run.tally.sequence}`, {
        ...(by !== undefined && { by: by.by, via: by.via }),
        ...{ tenant: run.tenant, data },
      });
      run.isUnsealed = false;
    } catch (error) {
      log(`The run \`${run.runId}\` could not be sealed: ${messageOf(error)}`);
    }
  }

  async #trySave(run: RunLog, isLive: boolean): Promise<void> {
    try {
      await run.save(isLive);
      this.#told.delete("save");
    } catch (error) {
      if (!this.#told.has("save"))
        this.#options.log(`\`run.json\` of \`${run.runId}\` cannot be written now: ${messageOf(error)}`);
      this.#told.add("save");
    }
  }
}

function keyOf(tenant: string, runId: string): string {
  return `${tenant}\0${runId}`;
}
