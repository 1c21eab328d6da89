import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, messageOf, RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { createWhole, readWhole } from "../system/whole-file.ts";

export interface SharedFolderOptions {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly log: (problem: string) => void;
  /** How long a pin of a process that was killed lasts, in milliseconds. Default: two hours. */
  readonly holdMs?: number | undefined;
}

export const usualHoldMs = 7_200_000;
/** So often in that time, a process writes what it still holds. */
const beatsAHold = 4;

/** What a store knows of a folder of artifacts. */
interface KnownFolder {
  readonly host: string;
  readonly path: string;
  /** Wall clock, milliseconds. */
  readonly usedAt: number;
}

/** Holds the name of the folder, which its store knows. */
const idFile = "folder-id";

type UsedFolder = SharedFolderOptions & { readonly folder: string; readonly clock: Clock };

/**
 * Returns the name of the folder in the store, which it gets when it is used first. Logs if other processes on the store
 * use another folder.
 *
 * @throws RuntimeFault `config_invalid`
 */
export async function identify(options: UsedFolder): Promise<string> {
  const { folder, store, log, clock, holdMs = usualHoldMs } = options;
  const folders = foldersIn(store);
  const id = (await readWhole(join(folder, idFile))) ?? (await named(options, folders));
  if ((await folders.get(id)) === undefined) throw ofAnotherStore(folder);
  await use(folders, id, options);
  for (const other of await folders.ids()) {
    const found = await folders.get(other);
    if (other === id || found === undefined || found.usedAt + holdMs < clock.now()) continue;
    const advice = found.path === folder ? "Mount the same volume at both" : "Give both one `results.folder`";
    const until = new Date(found.usedAt).toISOString();
    log(
      `Artifacts lie in \`${folder}\`, those of another gateway on this store in \`${found.path}\` of \`${found.host}\` (last used at ${until}): neither finds what the other stores. ${advice}.`,
    );
  }
  return id;
}

/**
 * What a store with one process does not know would be swept.
 *
 * @throws RuntimeFault `config_invalid`
 */
export async function checkUnshared(folder: string): Promise<void> {
  if ((await readWhole(join(folder, idFile))) !== undefined) throw ofAnotherStore(folder);
}

function ofAnotherStore(folder: string): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `The artifacts in \`${folder}\` belong to another store. Name another folder; or, if that store is gone, remove the file \`${idFile}\` in it: what this store does not know is then swept.`,
  );
}

/** The document first: a process that finds the file must find the document too. */
async function named(options: UsedFolder, folders: Collection<KnownFolder>): Promise<string> {
  const id = randomUUID();
  await use(folders, id, options);
  const path = join(options.folder, idFile);
  if (await createWhole(path, Buffer.from(id))) return id;
  await folders.remove(id); // another process was faster
  return (await readWhole(path)) ?? id;
}

async function use(folders: Collection<KnownFolder>, id: string, { folder, clock }: UsedFolder): Promise<void> {
  await folders.change(id, () => ({ item: { host: hostname(), path: folder, usedAt: clock.now() } }));
}

function foldersIn(store: SharedFolderOptions["store"]): Collection<KnownFolder> {
  return new Collection({
    store,
    kind: "artifact_folder",
    read: (body) => body as unknown as KnownFolder, // only this file writes it
  });
}

export interface HoldingOptions extends UsedFolder {
  readonly folderId: string;
  /** Holds what this process has pinned. */
  readonly hold: () => Promise<void>;
}

/** Holds the pins of this process and says that it uses the folder, until it is closed. */
export class Holding implements AsyncDisposable {
  readonly #options: HoldingOptions;
  #cancel = (): void => {};
  #beating: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: HoldingOptions) {
    this.#options = options;
    this.#plan();
  }

  #plan(): void {
    const { clock, holdMs = usualHoldMs } = this.#options;
    const beat = (): void => {
      this.#beating = this.#beat();
    };
    if (!this.#isClosed) this.#cancel = clock.in(holdMs / beatsAHold, beat, false);
  }

  async #beat(): Promise<void> {
    const { store, folderId, hold, log } = this.#options;
    try {
      await hold();
      await use(foldersIn(store), folderId, this.#options);
    } catch (error) {
      log(`Pinned artifacts could not be held: ${messageOf(error)}. It is tried again.`);
    }
    this.#plan();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#beating;
  }
}

/** @throws RuntimeFault `config_invalid` instead of the system's error */
export async function usable<T>(folder: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof RuntimeFault) throw error;
    throw new RuntimeFault(
      "config_invalid",
      `Artifacts are to lie in \`${folder}\`, which cannot be made or used (${codeOf(error)}); mend it, or name another folder.`,
      { cause: error },
    );
  }
}
