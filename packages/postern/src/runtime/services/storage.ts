import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Actor, type Clock, type Json, RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";
import type { AuditLog } from "../../audit/log.ts";
import { artifactFile } from "../../results/sidecars.ts";
import { Collection } from "../../store/collection.ts";
import type { Store, StoredSize } from "../../store/store.ts";

/** What one kind takes in the data folder. */
export type KindSize = StoredSize | { readonly kind: "artifacts"; readonly rows: number; readonly bytes: number };

/** A backup that was read again and proved. */
export interface LastBackup {
  /** Wall clock, milliseconds: when it was taken. */
  readonly at: number;
}

/** What is stored: how much, a backup of it, and when the last one was. */
export interface Storage {
  /** By kind, counted at most every five minutes. */
  sizes(): Promise<readonly KindSize[]>;
  /**
   * One archive of everything in the data folder, while calls go on (docs/reference/backup.md). Its keys are sealed to the
   * age recipient, or left out.
   *
   * @throws RuntimeFault `backup_unsupported`, `backup_running`, `request_invalid`, `disk_full`
   */
  backup(by: Actor, recipient?: string): AsyncIterable<Uint8Array>;
  /** Records that a backup, taken at that time (wall clock, milliseconds), was read again and proved. */
  backupChecked(at: number, by: Actor): Promise<void>;
  lastBackup(): Promise<LastBackup | undefined>;
}

export interface StorageOptions {
  readonly store: Store;
  readonly folder: string | undefined;
  readonly artifactFolder: string | undefined;
  readonly clock: Clock;
  readonly audit: Pick<AuditLog, "checkpoint">;
  readonly note: (type: string, summary: string, more: Partial<Actor> & { readonly data: Json }) => Promise<void>;
  /** While it holds, no artifact is swept. */
  readonly copying: { now: boolean };
}

const sizedEveryMs = 300_000;
const lastId = "last";

export class OpenStorage implements Storage {
  readonly #options: StorageOptions;
  readonly #backups: Collection<LastBackup>;
  #artifacts: { readonly at: number; readonly size: Promise<KindSize> } | undefined;

  constructor(options: StorageOptions) {
    this.#options = options;
    const { store } = options;
    this.#backups = new Collection({
      store,
      kind: "backup",
      read: (body) => ({ at: Number(Object(body)["at"] ?? 0) }),
      write: ({ at }) => ({ at }),
    });
  }

  async sizes(): Promise<readonly KindSize[]> {
    const { store, artifactFolder, clock } = this.#options;
    const rows = (await store.upkeep?.sizes()) ?? [];
    if (artifactFolder === undefined) return rows;
    const now = clock.monotonic();
    if (this.#artifacts === undefined || now - this.#artifacts.at >= sizedEveryMs)
      this.#artifacts = { at: now, size: sizeOf(artifactFolder) };
    return [...rows, await this.#artifacts.size];
  }

  async *backup(by: Actor, recipient?: string): AsyncGenerator<Uint8Array> {
    const { store, folder, clock, audit, note, copying } = this.#options;
    if (copying.now) {
      throw new RuntimeFault("backup_running", "Another backup is being made. Try again when it has ended.");
    }
    copying.now = true;
    try {
      const { makeBackup } = await import("../../backup/make-backup.ts");
      await note("operator.action.backup_begun", "A backup was begun", {
        ...by,
        data: { sealed_to: recipient ?? null },
      });
      yield* makeBackup({
        ...{ store, folder, clock, recipient },
        checkpoint: () => audit.checkpoint(),
        publicKey: () => readFile(join(folder ?? "", "audit.pub"), "utf8"),
      });
    } finally {
      copying.now = false;
    }
  }

  async backupChecked(at: number, by: Actor): Promise<void> {
    if (!(Number.isSafeInteger(at) && at <= this.#options.clock.now()))
      throw new RuntimeFault("request_invalid", `\`${at}\` is no time of a backup: it lies in the future.`);
    await this.#backups.change(lastId, (last) => (last === undefined || last.at < at ? { item: { at } } : undefined));
    const taken = new Date(at).toISOString();
    const data = { taken_at: taken };
    await this.#options.note("operator.action.backup_checked", `The backup of ${taken} was checked`, { ...by, data });
  }

  lastBackup(): Promise<LastBackup | undefined> {
    return this.#backups.get(lastId);
  }
}

/** The artifacts without what is said of them. */
async function sizeOf(folder: string): Promise<KindSize> {
  let [rows, bytes] = [0, 0];
  for (const one of await entriesIn(folder)) {
    for (const name of await entriesIn(join(folder, one))) {
      if (!artifactFile.test(name)) continue;
      const found = await stat(join(folder, one, name)).catch(() => undefined); // it was swept meanwhile
      rows += 1;
      bytes += found?.size ?? 0;
    }
  }
  return { kind: "artifacts", rows, bytes };
}

async function entriesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return [];
    throw error;
  }
}
