import { join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { counted, type DurableEvent, messageOf, type Watcher } from "@postern/core";
import { eventIn } from "../../audit/entry.ts";
import type { AuditLog } from "../../audit/log.ts";
import type { Store } from "../../store/store.ts";
import { readWhole, writeWholeUnsynced } from "../../system/whole-file.ts";
import { openRunFolders } from "./folders.ts";
import { OpenRuns, type OpenRunsOptions, type RunOwner } from "./open-runs.ts";
import { type EmittedEvent, makesNoFolder, runIn } from "./projection.ts";
import type { LogEntry } from "./records.ts";

export interface ArchiveOptions extends Omit<OpenRunsOptions, "folders" | "projected" | "earlier"> {
  /** Where the folders of runs lie. It belongs to one process at a time. */
  readonly folder: string;
  readonly audit: Pick<AuditLog, "size" | "synced" | "checkpoint" | "query">;
  readonly store: Pick<Store, "follow" | "calls">;
  /** When a run was opened: wall clock, milliseconds. */
  readonly openedAt: (tenant: string, runId: string) => Promise<number | undefined>;
  /** Calls the watcher at every moment from now on: what tools emit is in no log. */
  readonly follow: (watcher: Watcher) => void;
  /** Called if the run folders have entries that the log has not. */
  readonly reportLoss: (problem: string) => void;
}

/** How far the run folders follow the audit log. Entries before `up_to` have their lines in the files. */
interface Position {
  readonly up_to: number;
  /** Where the folders began to follow the log, and when: wall clock, milliseconds. Missing if they have all of it. */
  readonly began?: { readonly at_entry: number; readonly at: number };
}

/** An entry of the log as its store announced it, or what a tool emitted. */
type Announced =
  | { readonly seq: number; readonly body: string; readonly event: DurableEvent | undefined }
  | { readonly emitted: EmittedEvent; readonly at: number };

const flushEveryMs = 250;
const saveEveryMs = 1_000;
/** If more wait, the rest is read from the audit log. */
const mostBuffered = 16_384;
/** So many entries are projected in one turn of the event loop. */
const entriesATurn = 128;
/** So many are projected between two writes. */
const mostUnwritten = 2_048;
/** Entries that one query reads. */
const page = 1_000;
/** So much the clock of another process may differ. */
const clocksDifferMs = 60_000;

/**
 * The subscriber that projects the audit log into run folders. It keeps its position in the log: every entry before it has
 * its lines. After a crash, a full disk or an overflow it projects again from there; an entry that has its lines adds none.
 */
export class Archive implements AsyncDisposable {
  readonly folder: string;
  readonly runs: OpenRuns;
  readonly #options: ArchiveOptions;
  #position: Position;
  /** The position that is in its file. A database that is killed loses what it had not synced, so it is never beyond that. */
  #saved: number | undefined;
  /** The next entry to project: ahead of the position while lines still wait. */
  #next: number;
  #buffer: Announced[] = [];
  #hasOverflowed = false;
  #isSavingFailed = false;
  #lastSave: number;
  #stopTimer: (() => void) | undefined;
  #stopSaveTimer: (() => void) | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(options: ArchiveOptions, position: Position) {
    this.#options = options;
    this.folder = resolve(options.folder);
    this.#position = position;
    this.#next = position.up_to;
    const projected = (): number => this.#position.up_to;
    const earlier: OpenRunsOptions["earlier"] = (...run) => this.#earlier(...run);
    this.runs = new OpenRuns({ ...options, folders: openRunFolders(options.folder), projected, earlier });
    this.#lastSave = options.clock.monotonic();
  }

  /** Resolves when the folders have everything that is in the log now. */
  static async open(options: ArchiveOptions): Promise<Archive> {
    openRunFolders(options.folder); // an unusable folder is refused now
    const archive = new Archive(options, await readPosition(options));
    options.follow((event) => {
      if (event.moment === "emitted") archive.#add({ emitted: event, at: options.clock.now() });
    });
    options.store.follow((entries) => {
      for (const { seq, body, event } of entries) archive.#add({ seq, body, event });
    });
    await archive.#alone(async () => {
      await archive.#drain(true);
      await archive.#save();
    });
    return archive;
  }

  /** Resolves when everything announced so far is in the files, as far as they can be written. Never rejects. */
  flush(): Promise<void> {
    return this.#alone(() => this.#drain(false));
  }

  /** Runs `work` with everything announced so far in the files, and nothing else being written. */
  with<T>(work: () => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      await this.#drain(false);
      return work();
    });
  }

  /** Opens a run that has no folder here, if it has calls from before these folders began. */
  openEarlier(tenant: string, runId: string): ReturnType<OpenRuns["tryOpen"]> {
    return this.#alone(async () => {
      if ((await this.#earlier(tenant, runId)) === undefined) return undefined;
      const [call] = await this.#options.store.calls({ tenant, runId, limit: 1 });
      return call && (await this.#runOf({ tenant, runId }));
    });
  }

  async #earlier(tenant: string, runId: string): ReturnType<OpenRunsOptions["earlier"]> {
    const { began } = this.#position;
    if (began === undefined) return undefined;
    const openedAt = await this.#options.openedAt(tenant, runId);
    if (openedAt === undefined || !(openedAt < began.at + clocksDifferMs)) return undefined;
    return this.#entriesOf(tenant, runId, openedAt - clocksDifferMs, began.at_entry);
  }

  async *#entriesOf(
    tenant: string,
    runId: string,
    since: number,
    end: number,
  ): AsyncGenerator<readonly LogEntry[], void, void> {
    for (let after = -1; ; ) {
      const found = await this.#options.audit.query({ tenant, text: runId, since, after, limit: page });
      yield found.filter((entry) => entry.seq < end && runIn(entry) === runId);
      after = found.at(-1)?.seq ?? end;
      if (found.length < page || after >= end) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#alone(async () => {
      await this.#drain(true);
      for (const run of this.runs.all()) await this.runs.close(run);
      await this.#options.audit.checkpoint().catch(() => undefined); // the log reports it; the position stays behind
      await this.#save();
    });
    this.#stopTimer?.();
    this.#stopSaveTimer?.();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#work.then(work);
    this.#work = mine.catch(() => undefined); // the caller gets the error
    return mine;
  }

  /** Runs during a call, so it only adds to the buffer. */
  #add(announced: Announced): void {
    if (this.#closed) return;
    if (this.#buffer.length < mostBuffered) this.#buffer.push(announced);
    else if (!this.#hasOverflowed) {
      this.#hasOverflowed = true;
      this.#options.log("The run archive cannot keep up; it reads what it misses from the audit log.");
    }
    this.#stopTimer ??= this.#options.clock.in(flushEveryMs, () => void this.flush());
  }

  async #drain(isLast: boolean): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const upTo = this.#options.audit.size;
    const taken = this.#buffer;
    this.#buffer = [];
    this.#hasOverflowed = false;
    const isDue = isLast || this.#options.clock.monotonic() - this.#lastSave >= saveEveryMs;
    try {
      if (isDue && this.#isBehind()) this.#projectAgain();
      await this.#takeAll(taken);
      await this.#readUpTo(upTo);
      const isWritten = await this.runs.flush(isLast);
      if (isWritten && !this.#isBehind()) this.#advance();
      if (isDue) await this.#save();
      else this.#saveLater();
    } catch (error) {
      this.#options.log(`The run archive has failed: ${messageOf(error)}`);
    }
  }

  /** Whether entries before `#next` lack lines that do not even wait. */
  #isBehind(): boolean {
    return this.runs.isIncomplete || this.runs.all().some(({ lost }) => lost > 0);
  }

  #projectAgain(): void {
    if (this.runs.all().some((run) => run.lost > 0 && run.isWaiting)) return; // there is no room yet
    this.#next = this.#position.up_to;
    this.runs.isIncomplete = false;
    for (const run of this.runs.all()) run.lost = 0;
  }

  async #takeAll(announced: readonly Announced[]): Promise<void> {
    for (const [i, one] of announced.entries()) {
      if ("emitted" in one) (await this.#runOf(ownerOfCall(one.emitted)))?.takeEmitted(one.emitted, one.at);
      else {
        await this.#readUpTo(one.seq);
        const entry = one.seq === this.#next ? eventIn(one.body) : undefined;
        if (entry !== undefined) await this.#project({ seq: one.seq, ...entry }, one.event);
      }
      if (i % entriesATurn === entriesATurn - 1) await setImmediate();
    }
  }

  /** Projects entries that were not announced here. What the log has not read yet itself comes with a later call. */
  async #readUpTo(wanted: number): Promise<void> {
    const end = Math.min(wanted, this.#options.audit.size);
    while (this.#next < end) {
      const limit = Math.min(page, end - this.#next);
      const entries = await this.#options.audit.query({ after: this.#next - 1, limit });
      for (const entry of entries) if (entry.seq < end) await this.#project(entry);
      if (entries.length < limit) this.#next = end; // an unreadable entry has no lines
    }
  }

  async #project(entry: LogEntry, event?: DurableEvent): Promise<void> {
    this.#next = entry.seq + 1; // first, so that an entry that throws does not stop the ones after it
    const runId = runIn(entry);
    const run = runId === undefined ? undefined : await this.#runFor(entry, runId);
    run?.take(entry, event?.moment === "ended" ? event : undefined);
    if (this.#next % mostUnwritten === 0) await this.runs.flush(false);
  }

  #runFor(entry: LogEntry, runId: string): ReturnType<OpenRuns["tryOpen"]> {
    const owner = ownerOf(entry, runId);
    if (!makesNoFolder(entry)) return this.#runOf(owner);
    return Promise.resolve(this.runs.get(owner.tenant, runId));
  }

  async #runOf(owner: RunOwner): ReturnType<OpenRuns["tryOpen"]> {
    return this.runs.get(owner.tenant, owner.runId) ?? (await this.runs.tryOpen(owner));
  }

  #advance(): void {
    if (this.#position.up_to !== this.#next) this.#position = { ...this.#position, up_to: this.#next };
  }

  #saveLater(): void {
    if (this.#closed) return;
    this.#stopSaveTimer ??= this.#options.clock.in(saveEveryMs, () => void this.flush(), false);
  }

  async #save(): Promise<void> {
    this.#stopSaveTimer?.();
    this.#stopSaveTimer = undefined;
    this.#lastSave = this.#options.clock.monotonic();
    await this.runs.evict();
    await this.runs.save();
    if (this.#isBehind() || this.runs.all().some((run) => run.isWaiting)) this.#saveLater();
    const upTo = Math.min(this.#position.up_to, this.#options.audit.synced);
    if (upTo === this.#saved) return;
    try {
      const position: Position = { ...this.#position, up_to: upTo };
      await writeWholeUnsynced(join(this.folder, positionFile), `${JSON.stringify(position)}\n`);
      this.#saved = upTo;
      this.#isSavingFailed = false;
    } catch (error) {
      if (!this.#isSavingFailed) this.#options.log(`The run archive cannot save its position: ${messageOf(error)}`);
      this.#isSavingFailed = true;
    }
  }
}

function ownerOfCall({ call }: EmittedEvent): RunOwner {
  const { principal, runId, taskId } = call.authority;
  return { tenant: principal.tenant, runId, principal, taskId };
}

/** A system event is about an agent, or about the operator or Postern itself, who own no run. */
function ownerOf({ tenant, principal, refs }: LogEntry, runId: string): RunOwner {
  const isOwner = refs.tool_call !== undefined || !(principal?.agent === "system" || principal?.agent === "operator");
  return { tenant, runId, principal: isOwner && principal ? { tenant, ...principal } : undefined, taskId: refs.task };
}

const positionFile = ".position.json";

/** A new archive begins at the end of the log. A position beyond it is of another log. */
async function readPosition({ folder, audit, clock, reportLoss }: ArchiveOptions): Promise<Position> {
  const { size } = audit;
  const position = positionIn((await readWhole(join(folder, positionFile))) ?? "");
  if (position === undefined)
    return size === 0 ? { up_to: 0 } : { up_to: size, began: { at_entry: size, at: clock.now() } };
  const { up_to } = position;
  if (up_to <= size) return position;
  reportLoss(
    `The run folders in \`${folder}\` follow ${counted(up_to, "entry", "entries")} of the audit log, but it has only ${size}: it was cut off, or they belong to another log.`,
  );
  return { up_to: 0 };
}

function positionIn(text: string): Position | undefined {
  try {
    const { up_to, began }: Partial<Position> = JSON.parse(text);
    if (up_to === undefined || !Number.isSafeInteger(up_to)) return undefined;
    const isWhole = Number.isSafeInteger(began?.at_entry) && Number.isFinite(began?.at);
    return isWhole && began !== undefined ? { up_to, began } : { up_to };
  } catch {
    return undefined; // the archive begins at the end of the log, and written lines stay
  }
}
