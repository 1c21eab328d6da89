/**
 * The guard of the file tools for a tool of your own: reading, changing, moving and deleting beneath roots.
 *
 * Invariant: a path reaches the disk only through these methods, so it stays beneath its root. Messages never hold a path
 * of the machine.
 * Next: files.ts (the tools that Postern offers), text-edits.ts (changes of a text), kit.ts (what all of them need).
 */
import { unlinkSync } from "node:fs";
import type { JsonObject } from "@postern/core";
import type { Suggestion } from "../../policy/policy.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { type EditedFile, FileChanges, type SeenFile, type WriteInput } from "./changes.ts";
import { revised } from "./encoding.ts";
import { type FileToolOptions, fileKit } from "./files.ts";
import { type Folder, HeldFolder } from "./guard/folder.ts";
import { FileRejection, rejectionOf } from "./guard/rejection.ts";
import { answering, type FileKit, inFolderOf, lockOf, previewed, rejected, targeting } from "./kit.ts";
import { type DeleteInput, FileMoves, type MoveInput } from "./moves.ts";
import { previewOf, type ShownChange } from "./preview.ts";
import type { FileReading, ReadRange } from "./reading.ts";
import { answerOf, readPart } from "./reads.ts";
import type { FileCaller } from "./roots.ts";
import type { ListedEntry, SearchResult, Truncated } from "./search/job.ts";
import { search, softShare } from "./search-tools.ts";
import { isStill, lookAt, plainAt } from "./writing.ts";

/**
 * A part of a file, and the answer that shows it to a model.
 *
 * @public
 */
export type ReadFile = FileReading & { readonly answer: ToolAnswer };

/**
 * The files beneath some roots. A path begins with the name of a root. Every method refuses a path that leads out of its root,
 * also while another program swaps folders for links, and throws `FileRejection`; `answer` and `preview` make it an answer.
 *
 * @public
 */
export interface Files {
  /** For the description of a tool: every root, and what may be done there. */
  readonly description: string;
  hasRoot(name: string): boolean;
  /** For `classifyRisk`: the path in the one form that rules and people compare. Empty if the call itself will be refused. */
  target(path: string): Suggestion;
  /** The path of a file that may be changed, in the same form. */
  pathToChange(path: string): string;
  isFolder(path: string, caller: FileCaller): Promise<boolean>;
  /** Reads a part of a file, up to the limits. */
  read(path: string, range: ReadRange, context: ToolContext): Promise<ReadFile>;
  /** Lists a folder down to this depth, without what `.gitignore` leaves out. */
  list(path: string, depth: number, context: ToolContext): Promise<FileList>;

  /** Writes a file that does not exist yet, with its missing folders. */
  create(file: WriteInput, context: ToolContext): Promise<ToolAnswer>;
  /** Replaces the text of a file. Its encoding stays. */
  revise(file: EditedFile, change: (text: string) => string, context: ToolContext): Promise<ToolAnswer>;
  /** Moves a file or a folder. */
  move(paths: MoveInput, context: ToolContext): Promise<ToolAnswer>;
  /** Deletes a file, or a folder with everything in it. */
  remove(path: DeleteInput, context: ToolContext): Promise<ToolAnswer>;

  /** The previews of these four. They bind an approval to the content of the file. */
  showWrite(file: WriteInput, caller: FileCaller): Promise<JsonObject>;
  showRevised(file: EditedFile, change: (text: string) => string, caller: FileCaller): Promise<JsonObject>;
  showMove(paths: MoveInput, caller: FileCaller): Promise<JsonObject>;
  showRemove(path: DeleteInput, caller: FileCaller): Promise<JsonObject>;

  /** Runs `work` while no other tool of this process changes these files. In it, use `look`, `put` and `deleteSeen`. */
  together<Result>(paths: readonly string[], context: ToolContext, work: () => Promise<Result>): Promise<Result>;
  /** The file as it is now. Returns undefined if there is none. */
  look(path: string, caller: FileCaller): Promise<SeenFile | undefined>;
  /** Writes a file that is still as it was seen; without `seen`, one that does not exist yet. */
  put(path: string, content: NewContent, context: ToolContext): Promise<void>;
  /** Deletes a file that is still as it was seen. */
  deleteSeen(path: string, seen: SeenFile, context: ToolContext): Promise<void>;
  /** The bytes of a seen file with a changed text, in the file's own encoding. */
  revision(seen: SeenFile, change: (text: string) => string): Buffer;
  /** Returns the bytes, unless they are more than a file may have. */
  checkSize(bytes: Buffer): Buffer;
  /** The preview of one change: a unified diff, and the digests of before and after. */
  showChange(verb: string, change: ShownChange): Promise<JsonObject>;

  /** Opens a root, for a program that works in the folder itself. The caller disposes of it. */
  openFolder(root: string, caller: FileCaller): Promise<Folder>;
  /** Finds paths in an open folder by a glob, also what is hidden and what `.gitignore` leaves out. */
  find(folder: Folder, pattern: string, limits: FindLimits): Promise<FoundPaths>;

  /** Runs the body of a tool. A rejection becomes its answer (`isError`), and an attempt to get around the guard is announced. */
  answer(path: string, context: ToolContext, body: () => Promise<ToolAnswer>): Promise<ToolAnswer>;
  /** Makes a preview. If it cannot be made, it says why. */
  preview(path: string, body: () => Promise<JsonObject | null>): Promise<JsonObject | null>;
  /** The words of `answer` for one of several rejections. An attempt to get around the guard is announced. */
  rejected(rejection: FileRejection, path: string, context: ToolContext): RejectedFile;
}

/** @public */
export interface FileList {
  readonly entries: readonly ListedEntry[];
  /** Why there is more than is listed. */
  readonly truncated: Truncated | undefined;
}

/** @public */
export interface NewContent {
  readonly bytes: Buffer;
  readonly seen: SeenFile | undefined;
}

/** @public */
export interface FindLimits {
  readonly maxResults: number;
  readonly signal: AbortSignal;
}

/** @public */
export interface FoundPaths {
  readonly paths: readonly string[];
  /** Why there are more than were found. */
  readonly truncated: Truncated | undefined;
}

/** @public */
export interface RejectedFile {
  /** For the model. */
  readonly text: string;
  readonly rejected: FileRejection["reason"];
  readonly path: string;
}

/**
 * Opens the files beneath roots, for a tool of your own. The options are those of `fileTools`.
 *
 * @example
 * const files = openFiles({ roots: { docs: { path: "docs", writable: true } }, write: true });
 * const sign = defineTool({
 *   name: "sign", description: `Adds a signature. ${files.description}`, risk: "medium", effects: "write", idempotent: false,
 *   input: z.object({ path: z.string() }),
 *   classifyRisk: ({ path }) => files.target(path),
 *   execute: ({ path }, context) =>
 *     files.answer(path, context, () => files.revise({ path }, (text) => `${text}\n-- signed`, context)),
 * });
 *
 * @throws RuntimeFault `options_invalid` for an invalid root or limit, and if the guard is not safe on this system
 * @public
 */
export function openFiles(options: FileToolOptions): Files {
  return new FilesOfKit(fileKit(options));
}

class FilesOfKit implements Files {
  readonly description: string;
  readonly #kit: FileKit;
  readonly #changes: FileChanges;
  readonly #moves: FileMoves;

  constructor(kit: FileKit) {
    this.description = kit.roots.describe(kit.mayWrite);
    this.#kit = kit;
    this.#changes = new FileChanges(kit);
    this.#moves = new FileMoves(kit);
  }

  hasRoot(name: string): boolean {
    return this.#kit.roots.has(name);
  }

  target(path: string): Suggestion {
    return targeting(this.#kit, () => path)(undefined);
  }

  pathToChange(path: string): string {
    return this.#changes.fileName(path).shown;
  }

  async isFolder(path: string, caller: FileCaller): Promise<boolean> {
    const name = this.#kit.roots.parse(path);
    if (name.parts.length === 0) return true;
    return (await inFolderOf(this.#kit, { name, caller }, lookAt))?.isDirectory() === true;
  }

  async read(path: string, range: ReadRange, context: ToolContext): Promise<ReadFile> {
    const name = this.#kit.roots.parse(path);
    const read = await readPart(this.#kit, { name, range }, context);
    return { ...read, answer: answerOf(read, name) };
  }

  list(path: string, depth: number, context: ToolContext): Promise<FileList> {
    return search(this.#kit, { given: { path }, task: { kind: "list", depth } }, context);
  }

  create(file: WriteInput, context: ToolContext): Promise<ToolAnswer> {
    return this.#changes.create(file, context);
  }

  revise(file: EditedFile, change: (text: string) => string, context: ToolContext): Promise<ToolAnswer> {
    return this.#changes.revise(file, change, context);
  }

  move(paths: MoveInput, context: ToolContext): Promise<ToolAnswer> {
    return this.#moves.move(paths, context);
  }

  remove(path: DeleteInput, context: ToolContext): Promise<ToolAnswer> {
    return this.#moves.remove(path, context, true);
  }

  showWrite(file: WriteInput, caller: FileCaller): Promise<JsonObject> {
    return this.#changes.showWrite(file, caller);
  }

  showRevised(file: EditedFile, change: (text: string) => string, caller: FileCaller): Promise<JsonObject> {
    return this.#changes.showRevised(file, change, caller);
  }

  showMove(paths: MoveInput, caller: FileCaller): Promise<JsonObject> {
    return this.#moves.showMove(paths, caller);
  }

  showRemove(path: DeleteInput, caller: FileCaller): Promise<JsonObject> {
    return this.#moves.showRemove(path, caller);
  }

  async together<Result>(paths: readonly string[], context: ToolContext, work: () => Promise<Result>): Promise<Result> {
    const locks = paths.map((path) => lockOf(this.#kit, this.#changes.fileName(path), context));
    return this.#kit.locks.with(locks, async () => {
      context.check(); // it may have waited for another change
      return work();
    });
  }

  async look(path: string, caller: FileCaller): Promise<SeenFile | undefined> {
    return this.#changes.look(this.#changes.fileName(path), caller);
  }

  async put(path: string, { bytes, seen }: NewContent, context: ToolContext): Promise<void> {
    const from = { before: seen?.before };
    await this.#changes.put(this.#changes.fileName(path), { bytes: this.checkSize(bytes), from }, context);
  }

  async deleteSeen(path: string, { before }: SeenFile, context: ToolContext): Promise<void> {
    await this.#moves.take(this.#changes.fileName(path), context, (spot) => {
      if (!isStill(before, plainAt(spot))) throw new FileRejection("changed");
      unlinkSync(spot.folder.at(spot.name));
    });
  }

  revision({ bytes }: SeenFile, change: (text: string) => string): Buffer {
    return this.checkSize(revised(bytes, change));
  }

  checkSize(bytes: Buffer): Buffer {
    return this.#changes.sized(bytes);
  }

  showChange(verb: string, change: ShownChange): Promise<JsonObject> {
    return previewOf(verb, change);
  }

  async openFolder(root: string, caller: FileCaller): Promise<Folder> {
    return this.#kit.roots.open(root, caller, await this.#kit.reach());
  }

  find(folder: Folder, pattern: string, { maxResults, signal }: FindLimits): Promise<SearchResult> {
    const { rules } = folder;
    const limitMs = this.#kit.limits.searchTimeMs;
    return this.#kit.searches.run(
      {
        root: folder instanceof HeldFolder ? { descriptor: folder.descriptor, rules } : { path: folder.self, rules },
        ...{ start: [], shown: "", includeIgnored: true, maxResults, softLimitMs: limitMs * softShare },
        task: { kind: "glob", pattern },
      },
      { limitMs, signal },
    );
  }

  answer(path: string, context: ToolContext, body: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
    const roots = { elsewhere: (given: string) => this.#elsewhere(given) };
    return answering(() => path, body, { roots })(undefined, context);
  }

  preview(path: string, body: () => Promise<JsonObject | null>): Promise<JsonObject | null> {
    return previewed(undefined, () => path, body);
  }

  rejected(rejection: FileRejection, path: string, context: ToolContext): RejectedFile {
    return rejected(rejection, path, context);
  }

  /** The path may be one of the tool's own kind, which names no root. */
  #elsewhere(path: string): string | undefined {
    try {
      return path === "" ? undefined : this.#kit.roots.elsewhere(path);
    } catch (error) {
      if (rejectionOf(error) === undefined) throw error;
      return undefined;
    }
  }
}
