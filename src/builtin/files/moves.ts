import { readdirSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import type { JsonObject } from "../../core/json.ts";
import { codeOf } from "../../core/system/error-code.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { checkPlain } from "./guard/folder.ts";
import { FileRejection } from "./guard/rejection.ts";
import { announce, type FileKit, lockOf, reach } from "./kit.ts";
import type { PathName } from "./path-name.ts";
import type { FileCaller } from "./roots.ts";
import { folderFor, lookAt, type Spot, syncFolder } from "./writing.ts";

export interface MoveInput {
  readonly from: string;
  readonly to: string;
  readonly overwrite?: boolean;
}

export interface DeleteInput {
  readonly path: string;
}

/** What `move_file` and `delete_file` do, and what they show before. All of them throw Rejections. */
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
      using source = await reach(kit, from, context);
      using target = await reach(kit, to, context);
      using sourceFolder = source.root.descend(from.parts.slice(0, -1));
      const old = { folder: sourceFolder, name: nameOf(from) };
      checkMovable(lookAt(old), old);
      using targetFolder = await folderFor(target.root, to.parts.slice(0, -1), kit.disk);
      await this.#rename(old, { folder: targetFolder, name: nameOf(to) }, given.overwrite === true);
      announce(context, "file.written", { path: to.shown, from: from.shown });
      return { structured: { from: from.shown, to: to.shown } };
    });
  }

  async remove({ path }: DeleteInput, context: ToolContext, isTree = false): Promise<ToolAnswer> {
    const kit = this.#kit;
    const name = this.#named(path);
    return kit.locks.with([lockOf(kit, name, context)], async () => {
      context.check();
      await this.take(name, context, (spot) => (isTree ? removeTree(spot) : removeOne(spot)));
      return { structured: { path: name.shown, deleted: true } };
    });
  }

  /** Takes away what stands at a name. The caller holds its lock. */
  async take(name: PathName, context: ToolContext, removed: (spot: Spot, stats: Stats) => void): Promise<void> {
    using reached = await reach(this.#kit, name, context);
    using folder = reached.root.descend(name.parts.slice(0, -1));
    const spot = { folder, name: nameOf(name) };
    const stats = lookAt(spot);
    if (stats === undefined) throw new FileRejection("not_found");
    removed(spot, stats);
    await syncFolder(folder, this.#kit.disk);
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

  async showRemove({ path }: DeleteInput, caller: FileCaller): Promise<JsonObject> {
    const name = this.#named(path);
    const stats = await this.#seen(name, caller);
    if (stats === undefined) throw new FileRejection("not_found");
    return { summary: `delete ${name.shown} (${sizeOf(stats)}, changed ${stats.mtime.toISOString()}) for good` };
  }

  /** A root itself is nobody's to move or delete. */
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

  /** Undefined: nothing is there. */
  async #seen(name: PathName, caller: FileCaller): Promise<Stats | undefined> {
    try {
      using reached = await reach(this.#kit, name, caller);
      using folder = reached.root.descend(name.parts.slice(0, -1));
      return lookAt({ folder, name: nameOf(name) });
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}

function nameOf({ parts }: PathName): string {
  return parts.at(-1) ?? "";
}

/** A file, a link itself and never what it points at, or an empty folder. */
function removeOne({ folder, name }: Spot): void {
  if (lookAt({ folder, name })?.isDirectory() === true) rmdirSync(folder.at(name));
  else unlinkSync(folder.at(name));
}

function removeTree(spot: Spot): void {
  if (lookAt(spot)?.isDirectory() === true) {
    using folder = spot.folder.descend([spot.name]);
    for (const name of readdirSync(folder.self)) removeTree({ folder, name });
  }
  removeOne(spot);
}

/** Folders move with what is in them; links stay where they are. */
function checkMovable(stats: Stats | undefined, { folder }: Spot): void {
  if (stats === undefined) throw new FileRejection("not_found");
  if (!stats.isDirectory()) checkPlain(stats, folder.rules);
  else if (stats.dev !== folder.rules.device) throw new FileRejection("other_device");
}

function sizeOf(stats: Stats): string {
  return stats.isDirectory() ? "a folder" : stats.isSymbolicLink() ? "a link" : `${stats.size} bytes`;
}
