import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { AuditLog } from "../../audit/log.ts";
import type { CallEvent } from "../../calls/event.ts";
import { messageOf } from "../../calls/fault.ts";
import { isJsonObject } from "../../calls/json.ts";
import type { Watcher } from "../watcher.ts";
import { openRunFolders } from "./folders.ts";
import { byHandType, OpenRuns, type OpenRunsOptions, type RunOwner, sealType } from "./open-runs.ts";
import { Position } from "./position.ts";
import { recover } from "./recover.ts";
import type { Archived } from "./spell.ts";

export interface ArchiveOptions extends Omit<OpenRunsOptions, "folders"> {
  /** Where the folders of runs lie; belongs to one process at a time, as the data folder does. */
  readonly folder: string;
  readonly audit: Pick<AuditLog, "size" | "query">;
  /** Tells the watcher of every moment from now on. */
  readonly follow: (watcher: Watcher) => void;
}

const everyMs = 50;
const housekeepingMs = 1_000;
/** More moments than these are not kept while the disk is slow: their lines are made up from the audit log. */
const mostBuffered = 16_384;
/** About a millisecond of spelling; then calls have their turn. */
const stride = 128;
/** Far less than a run may keep in memory. */
const mostUnwritten = 2_048;
/** More is not made up: the archive was off for long. */
const mostRecovered = 100_000;
/** Entries of the log that are made up at once. */
const recoveredAtOnce = 10_000;

/**
 * From moments to folders: the watcher only keeps the moment; every 50 ms all of them are spelled and each run gets one
 * append a file. Whatever goes wrong is told to the log, and made up from the audit log when it can be written again.
 */
export class Archive implements AsyncDisposable {
  readonly folder: string;
  readonly runs: OpenRuns;
  readonly position: Position;
  readonly #options: ArchiveOptions;
  #buffer: Archived[] = [];
  #dropped = 0;
  #isBehind = false;
  #isPlaceLost = false;
  #keptHouseAt: number;
  #stopTimer: (() => void) | undefined;
  #stopHousekeeping: (() => void) | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(options: ArchiveOptions, position: Position) {
    this.#options = options;
    this.folder = resolve(options.folder);
    this.runs = new OpenRuns({ ...options, folders: openRunFolders(options.folder) });
    this.position = position;
    this.#keptHouseAt = options.clock.monotonic();
  }

  /** Makes up what an earlier process could not write, before anything new is written. */
  static async open(options: ArchiveOptions): Promise<Archive> {
    openRunFolders(options.folder); // a folder that cannot be is said now
    const archive = new Archive(options, await Position.open(options.folder, options.audit.size));
    const { size } = options.audit;
    options.follow(archive.watch); // what comes from here on waits until the rest is made up
    await archive.#alone(async () => {
      await archive.#catchUp(size);
      await archive.#keepHouse();
    });
    return archive;
  }

  /** All that a call pays for its archive. */
  readonly watch: Watcher = (event: CallEvent): void => {
    switch (event.moment) {
      case "arrived":
      case "progressed":
      case "left":
        return;
    }
    if (this.#closed) return;
    if (this.#buffer.length >= mostBuffered) {
      this.#drop();
      return;
    }
    this.#buffer.push(event);
    this.#stopTimer ??= this.#options.clock.in(everyMs, () => void this.flush());
  };

  /** Everything announced so far is in the files, as far as they can be written. Never rejects. */
  flush(): Promise<void> {
    return this.#alone(() => this.#drain(false));
  }

  /** With everything announced so far in the files, and nothing else being written. */
  with<T>(work: () => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      await this.#drain(false);
      return work();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#alone(async () => {
      await this.#drain(true);
      for (const run of this.runs.all()) await this.runs.letGo(run);
      await this.#keepHouse();
    });
    this.#stopTimer?.();
    this.#stopHousekeeping?.();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#work.then(work);
    this.#work = mine.catch(() => undefined); // whoever asked is told
    return mine;
  }

  #drop(): void {
    if (this.#dropped === 0)
      this.#options.log("The run archive cannot keep up; what it misses is made up from the audit log.");
    this.#dropped += 1;
  }

  async #drain(isLast: boolean): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const upTo = this.#options.audit.size; // whatever is in the log was announced: it is in the buffer, or was before
    const taken = this.#buffer;
    this.#buffer = [];
    if (this.#dropped > 0) this.#isBehind = true;
    this.#dropped = 0;
    try {
      await this.#takeAll(taken);
      const isWritten = await this.runs.flush(isLast);
      if (this.runs.takeFailed() || this.runs.all().some(({ lost }) => lost > 0)) this.#isBehind = true;
      const isDue = this.#options.clock.monotonic() - this.#keptHouseAt >= housekeepingMs;
      if (isWritten && this.#isBehind && (isDue || isLast)) await this.#catchUp(upTo);
      else if (isWritten && !this.#isBehind) this.position.advance(upTo);
      if (isDue) await this.#keepHouse();
      if (!isDue || this.#isBehind || !isWritten) this.#keepHouseLater();
    } catch (error) {
      this.#isBehind = true;
      this.#options.log(`The run archive failed inside: ${messageOf(error)}`);
    }
  }

  async #takeAll(events: readonly Archived[]): Promise<void> {
    let left = stride;
    let unwritten = 0;
    for (const event of events) {
      const owner = ownerOf(event);
      if (owner === undefined) continue;
      const run = this.runs.get(owner.tenant, owner.runId) ?? (await this.runs.tryOpen(owner));
      run?.take(event);
      left -= 1;
      if (left > 0) continue;
      left = stride;
      unwritten += stride;
      if (unwritten < mostUnwritten) await setImmediate();
      else await this.runs.flush(false);
      unwritten %= mostUnwritten;
    }
  }

  /** Lines for what the audit log has and the folders have not. */
  async #catchUp(upTo: number): Promise<void> {
    const { audit, redact, log } = this.#options;
    const missed = upTo - this.position.upTo;
    if (missed > mostRecovered) {
      log(
        `${missed === 1 ? "1 event of the audit log has no line" : `${missed} events of the audit log have no lines`} in the run folders: the archive was off.`,
      );
      this.position.leaveOut(upTo);
      return;
    }
    let made = 0;
    while (this.position.upTo < upTo) {
      const to = Math.min(upTo, this.position.upTo + recoveredAtOnce);
      made += await recover({
        ...{ audit, redact, from: this.position.upTo, upTo: to },
        runOf: (tenant, runId, { principal, refs }) =>
          this.runs.tryOpen({ tenant, runId, principal: principal && { tenant, ...principal }, taskId: refs.task }),
      });
      if (!(await this.runs.flush(true)) || this.runs.takeFailed()) return;
      this.position.advance(to);
    }
    for (const run of this.runs.all()) run.lost = 0;
    this.#isBehind = false;
    if (made > 0)
      log(
        `${made === 1 ? "1 line of run folders was" : `${made} lines of run folders were`} made up from the audit log.`,
      );
  }

  #keepHouseLater(): void {
    if (this.#closed) return;
    this.#stopHousekeeping ??= this.#options.clock.in(housekeepingMs, () => void this.flush(), false);
  }

  async #keepHouse(): Promise<void> {
    this.#stopHousekeeping?.();
    this.#stopHousekeeping = undefined;
    this.#keptHouseAt = this.#options.clock.monotonic();
    await this.runs.evict();
    await this.runs.save();
    try {
      await this.position.save();
      this.#isPlaceLost = false;
    } catch (error) {
      if (!this.#isPlaceLost) this.#options.log(`The run archive's place could not be kept: ${messageOf(error)}`);
      this.#isPlaceLost = true;
    }
  }
}

/** The folder says these itself. */
const saidThere: ReadonlySet<string> = new Set([sealType, `${byHandType}finished`]);

/** Undefined: it is no run's. What is noted names its run in its data. */
function ownerOf(event: Archived): RunOwner | undefined {
  if (event.moment !== "noted") {
    const { principal, runId, taskId } = event.call.authority;
    return { tenant: principal.tenant, runId, principal, taskId };
  }
  const { data, type, principal, tenant = "default" } = event;
  const runId = data !== undefined && isJsonObject(data) ? data["run_id"] : undefined;
  if (typeof runId !== "string" || saidThere.has(type)) return undefined;
  return { tenant: principal?.tenant ?? tenant, runId, principal };
}
