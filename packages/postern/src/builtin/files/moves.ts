import { readdirSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import type { JsonObject } from "@postern/core";
import { codeOf } from "@postern/core/system";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { changesFiles } from "./changes.ts";
import { checkPlain } from "./guard/folder.ts";
import { FileRejection } from "./guard/rejection.ts";
import { asOnDisk } from "./guard/spelling.ts";
import {
  announce,
  type FileKit,
  fileTool,
  flag,
  inFolderOf,
  inputSchema,
  lockOf,
  openRootOf,
  path,
  pathOf,
  targeting,
  text,
} from "./kit.ts";
import type { PathName } from "./path-name.ts";
import type { FileCaller } from "./roots.ts";
import { folderFor, lookAt, type Spot, syncFolder } from "./writing.ts";

/** Both paths begin with a root. */
export interface MoveInput {
  readonly from: string;
  /** With its name. */
  readonly to: string;
  /** A file that is there is replaced. Default: no. */
  readonly overwrite?: boolean;
}

/** What is deleted. */
export interface DeleteInput {
  readonly path: string;
}

/** `move_file`: files and folders, also from one root to another of the same file system. */
export function moveTool(kit: FileKit): LocalTool {
  const moves = new FileMoves(kit);
  return fileTool<MoveInput>(kit, {
    ...changesFiles,
    name: "move_file",
    idempotent: false,
    description: `Gives a file or folder another name or place; what is there already is replaced only with \`overwrite\`. ${kit.roots.describe(true)}`,
    input: inputSchema(
      {
        from: text("What is moved."),
        to: text("Its new path, its name included."),
        overwrite: flag("Replace a file that is there."),
      },
      ["from", "to"],
    ),
    pathOf: ({ from }) => from,
    classify: targeting<MoveInput>(kit, ({ to }) => to),
    run: (given, context) => moves.move(given, context),
    show: (given, caller) => moves.showMove(given, caller),
  });
}

/** `delete_file`: one file or one empty folder. It is destructive, so a policy must name it and an approver decides. */
export function deleteTool(kit: FileKit): LocalTool {
  const moves = new FileMoves(kit);
  return fileTool<DeleteInput>(kit, {
    name: "delete_file",
    risk: "critical",
    effects: "destructive",
    permissions: ["filesystem.delete"],
    idempotent: false,
    description: `Deletes a file or an empty folder, for good. ${kit.roots.describe(true)}`,
    input: inputSchema({ path }, ["path"]),
    pathOf,
    classify: targeting(kit, pathOf),
    run: (given, context) => moves.remove(given, context),
    show: (given, caller) => moves.showRemove(given, caller),
  });
}

/** Moves and deletions, and their previews. All methods throw rejections. */
export class FileMoves {
  readonly #kit: FileKit;

  constructor(kit: FileKit) {
    this.#kit = kit;
  }

  async move(given: MoveInput, context: ToolContext): Promise<ToolAnswer> {
    const kit = this.#kit;
    const from = this.#named(given.from);
    const to = this.#named(given.to);
    return kit.locks.with([lockOf(kit, from, context), lockOf(kit, to, context)], async () => {
      context.check();
      using target = await openRootOf(kit, to, context);
      await inFolderOf(kit, { name: from, caller: context }, async (old) => {
        checkMovable(lookAt(old), old);
        const parts = asOnDisk(target, to.parts);
        using folder = await folderFor(target, parts.slice(0, -1), kit.disk);
        await this.#rename(old, { folder, name: parts.at(-1) ?? "" }, given.overwrite === true);
      });
      announce(context, "file.written", { path: to.shown, from: from.shown });
      return { structured: { from: from.shown, to: to.shown } };
    });
  }

  async remove({ path: given }: DeleteInput, context: ToolContext, isTree = false): Promise<ToolAnswer> {
    const kit = this.#kit;
    const name = this.#named(given);
    return kit.locks.with([lockOf(kit, name, context)], async () => {
      context.check();
      await this.take(name, context, isTree ? removeTree : removeOne);
      return { structured: { path: name.shown, deleted: true } };
    });
  }

  /** Removes what has a name. The caller holds its lock. */
  async take(name: PathName, context: ToolContext, remove: (spot: Spot) => void): Promise<void> {
    await inFolderOf(this.#kit, { name, caller: context }, async (spot) => {
      if (lookAt(spot) === undefined) throw new FileRejection("not_found");
      remove(spot);
      await syncFolder(spot.folder, this.#kit.disk);
    });
    announce(context, "file.written", { path: name.shown, deleted: true });
  }

  async showMove({ from: source, to: target, overwrite }: MoveInput, caller: FileCaller): Promise<JsonObject> {
    const from = this.#named(source);
    const to = this.#named(target);
    const moved = await this.#seen(from, caller);
    if (moved === undefined) throw new FileRejection("not_found");
    const there = await this.#seen(to, caller);
    const replacing = overwrite === true ? ", replacing what is there" : ": it exists, so nothing will be moved";
    const over = there === undefined ? "" : `${replacing} (${sizeOf(there)})`;
    return { summary: `move ${from.shown} (${sizeOf(moved)}) to ${to.shown}${over}` };
  }

  async showRemove({ path: given }: DeleteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.#named(given);
    const stats = await this.#seen(name, caller);
    if (stats === undefined) throw new FileRejection("not_found");
    return { summary: `delete ${name.shown} (${sizeOf(stats)}, changed ${stats.mtime.toISOString()}) for good` };
  }

  /** A root itself cannot be moved or deleted. */
  #named(given: string): PathName {
    const name = this.#kit.roots.parseForWriting(given);
    if (name.parts.length > 0) return name;
    throw new FileRejection("read_only", "is a root itself; what is in it can be moved and deleted.");
  }

  async #rename(from: Spot, to: Spot, overwrite: boolean): Promise<void> {
    const { disk } = this.#kit;
    const there = lookAt(to);
    if (there !== undefined && !overwrite)
      throw new FileRejection(
        "exists",
        "was not moved: something has the new name already; `overwrite: true` replaces a file.",
      );
    if (there !== undefined) checkPlain(there, to.folder.rules);
    try {
      await disk.rename(from.folder.at(from.name), to.folder.at(to.name));
    } catch (error) {
      if (codeOf(error) === "EXDEV") throw new FileRejection("across_devices");
      if (codeOf(error) === "EINVAL") throw new FileRejection("path_invalid", "cannot be moved into itself.");
      throw error;
    }
    await syncFolder(to.folder, disk);
    await syncFolder(from.folder, disk);
  }

  /** Returns undefined if nothing is there. */
  async #seen(name: PathName, caller: FileCaller): Promise<Stats | undefined> {
    try {
      return await inFolderOf(this.#kit, { name, caller }, lookAt);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}

/** A file, a link itself and never its target, or an empty folder. */
function removeOne(spot: Spot): void {
  const at = spot.folder.at(spot.name);
  if (lookAt(spot)?.isDirectory() === true) rmdirSync(at);
  else unlinkSync(at);
}

function removeTree(spot: Spot): void {
  if (lookAt(spot)?.isDirectory() === true) {
    using folder = spot.folder.descend([spot.name]);
    for (const name of readdirSync(folder.self)) removeTree({ folder, name });
  }
  removeOne(spot);
}

/** Folders move with everything in them. Links are not moved. */
function checkMovable(stats: Stats | undefined, { folder }: Spot): void {
  if (stats === undefined) throw new FileRejection("not_found");
  if (!stats.isDirectory()) checkPlain(stats, folder.rules);
  else if (stats.dev !== folder.rules.device) throw new FileRejection("other_device");
}

function sizeOf(stats: Stats): string {
  return stats.isDirectory() ? "a folder" : stats.isSymbolicLink() ? "a link" : `${stats.size} bytes`;
}
