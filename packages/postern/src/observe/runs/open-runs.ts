import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, messageOf, type Principal, RuntimeFault } from "@postern/core";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { RunFolders } from "../../system/run-folders.ts";
import { writeFirstDocuments, writeManifest } from "./documents.ts";
import { folderName } from "./folders.ts";
import type { LogEntry, ProjectionOptions } from "./records.ts";
import { RunLog } from "./run-log.ts";

export interface OpenRunsOptions extends ProjectionOptions {
  readonly folders: RunFolders;
  readonly clock: Clock;
  readonly artifacts?: Pick<ArtifactStore, "openStream">;
  readonly log: (problem: string) => void;
  /** The effective configuration, as YAML. Each new run gets it as a file. */
  readonly config?: string | undefined;
  /** Entries of the audit log before this one have their lines in the files. */
  readonly projected: () => number;
  /** The entries of a run that has some from before these folders began; undefined for another run. */
  readonly earlier: (tenant: string, runId: string) => Promise<AsyncIterable<readonly LogEntry[]> | undefined>;
}

/** Which run, and who owns it if it is new. */
export interface RunOwner {
  readonly tenant: string;
  readonly runId: string;
  /** Missing until a caller or `begin` names one. */
  readonly principal?: Principal | undefined;
  readonly taskId?: string | undefined;
}

const mostOpen = 256;
const mostRefused = 1_000;
const idleMs = 3_600_000;

/** The runs that are written now. One without an event for an hour is closed. */
export class OpenRuns {
  readonly #options: OpenRunsOptions;
  readonly #runs: Map<string, RunLog> = new Map();
  /** Ids that no folder can have. The log has one line of each. */
  readonly #refused: Set<string> = new Set();
  /** Whether a run could not be opened, but may be later. */
  isIncomplete = false;
  /** Problems that the log has a line of; one line until it works again. */
  readonly #reported: Set<"open" | "save"> = new Set();

  constructor(options: OpenRunsOptions) {
    this.#options = options;
  }

  /** Returns undefined if it is not open. */
  get(tenant: string, runId: string): RunLog | undefined {
    return this.#runs.get(keyOf(tenant, runId));
  }

  all(): readonly RunLog[] {
    return [...this.#runs.values()];
  }

  /** @throws RuntimeFault `request_invalid` for what no folder can be named after */
  checkName(tenant: string, runId: string): void {
    folderName(tenant, runId);
    if (this.#options.redact(runId) !== runId)
      throw new RuntimeFault("request_invalid", "The run's id holds a secret; a folder cannot be named so.");
  }

  /** @throws RuntimeFault `request_invalid` for what cannot be a run; and what the disk says */
  async open({ tenant, runId, principal, taskId }: RunOwner): Promise<RunLog> {
    const { folders, redact, config, projected } = this.#options;
    const key = keyOf(tenant, runId);
    const known = this.#runs.get(key);
    if (known !== undefined) return known;
    this.checkName(tenant, runId);
    const earlier = this.#isWritten(tenant, runId) ? undefined : await this.#options.earlier(tenant, runId);
    const from = earlier === undefined ? projected() : 0; // a kill may have left some of its lines
    const folder = (): string => folders.open(tenant, runId);
    const run = await RunLog.open({ ...this.#options, tenant, runId, principal, taskId, folder, from });
    const isNew = run.tally.sequence === 1;
    for await (const entries of earlier ?? []) {
      for (const entry of entries) run.take(entry);
      if (!(await run.flush())) throw new Error("its earlier lines cannot be written");
    }
    await run.save(true); // so that every folder says whose it is, also after a kill
    if (isNew) await writeFirstDocuments(run, config, redact);
    this.#runs.set(key, run);
    return run;
  }

  /** Its first lines are in its files. */
  #isWritten(tenant: string, runId: string): boolean {
    const folder = this.#options.folders.find(tenant, runId);
    return folder !== undefined && existsSync(join(folder, "run.json"));
  }

  /** Returns undefined if it cannot be written; then the log says why. */
  async tryOpen(owner: RunOwner): Promise<RunLog | undefined> {
    const { tenant, runId } = owner;
    const key = keyOf(tenant, runId);
    const known = this.#runs.get(key);
    if (known !== undefined || this.#refused.has(key)) return known;
    try {
      const run = await this.open(owner);
      this.#reported.delete("open");
      return run;
    } catch (error) {
      const { log, redact } = this.#options;
      const isFinal = error instanceof RuntimeFault;
      if (isFinal || !this.#reported.has("open"))
        log(redact(`The run \`${runId}\` is not archived: ${messageOf(error)}`));
      if (isFinal) {
        if (this.#refused.size < mostRefused) this.#refused.add(key);
        return undefined;
      }
      this.#reported.add("open");
      this.isIncomplete = true;
      return undefined;
    }
  }

  /** Resolves to false if lines still wait. */
  async flush(isLast: boolean): Promise<boolean> {
    const waiting = this.all().filter((run) => isLast || run.isWaiting);
    const written = await Promise.all(waiting.map((run) => run.flush(isLast)));
    return written.every(Boolean);
  }

  async save(): Promise<void> {
    for (const run of this.all()) if (run.isUnsaved) await this.#trySave(run, true);
  }

  /** Closes idle runs, and the oldest ones when too many are open. A running call keeps its run open. */
  async evict(): Promise<void> {
    const now = this.#options.clock.now();
    let tooMany = this.#runs.size - mostOpen;
    for (const run of this.all()) {
      const isIdle = now - Date.parse(run.tally.lastAt) > idleMs;
      if ((tooMany <= 0 && !isIdle) || run.tally.open.size > 0 || run.isWaiting || run.lost > 0) continue;
      tooMany -= 1;
      await this.close(run);
    }
  }

  async close(run: RunLog): Promise<void> {
    if (run.isManifestOld) await this.writeManifest(run);
    await this.#trySave(run, false);
    this.#runs.delete(keyOf(run.tenant, run.runId));
  }

  /** Writes every waiting line, then what the run leaves behind. */
  async writeManifest(run: RunLog): Promise<void> {
    const { artifacts, clock, log } = this.#options;
    if (!(await run.flush(true)) || run.isWaiting) return; // the next close writes it
    try {
      await writeManifest(run, artifacts, clock.now());
    } catch (error) {
      log(`\`artifact-manifest.json\` of \`${run.runId}\` cannot be written now: ${messageOf(error)}`);
    }
  }

  async #trySave(run: RunLog, isLive: boolean): Promise<void> {
    try {
      await run.save(isLive);
      this.#reported.delete("save");
    } catch (error) {
      if (!this.#reported.has("save"))
        this.#options.log(`\`run.json\` of \`${run.runId}\` cannot be written now: ${messageOf(error)}`);
      this.#reported.add("save");
    }
  }
}

function keyOf(tenant: string, runId: string): string {
  return `${tenant}\0${runId}`;
}
