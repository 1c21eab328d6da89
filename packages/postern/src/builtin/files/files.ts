/**
 * Tools that read and search files beneath roots and, if the operator allows it, change and delete them. They are ordinary
 * tools with a guard.
 *
 * Invariant: nothing outside a root is opened, made, moved or deleted, also while another process swaps folders for links.
 * A file is changed completely or not at all. A rejection is an answer with a reason and without a path of the machine.
 * Next: guard/folder.ts (how things beneath a folder are opened), roots.ts (which folders), path-name.ts (what a path
 * may look like), writing.ts (how a file is replaced), search/ (how trees are walked and looked through).
 */
import { checkedLimits, type LimitTable } from "@postern/core";
import { Locks } from "@postern/core/system";
import type { LocalTool } from "../../tools/kinds.ts";
import { writeTools } from "./changes.ts";
import { type Disk, realDisk } from "./disk.ts";
import { type FileKit, type FileLimits, folderOpener } from "./kit.ts";
import { deleteTool, moveTool } from "./moves.ts";
import { readTools } from "./reads.ts";
import { FileRoots, type RootsOptions } from "./roots.ts";
import { SearchThreads } from "./search/thread.ts";
import { searchTools } from "./search-tools.ts";

/**
 * Which tools `fileTools` offers, and for which folders.
 *
 * @public
 */
export interface FileToolOptions extends RootsOptions {
  /** Offers `write_file`, `edit_file`, `append_file` and `move_file`. Default: no. */
  readonly write?: boolean | undefined;
  /** Offers `delete_file`, which a policy must also name. Default: no. */
  readonly delete?: boolean | undefined;
  /** Text that one `read_file` returns at most. Default: 200,000. */
  readonly maxFileBytes?: number | undefined;
  /** Largest file that is no text and is returned. Default: 10 MB. */
  readonly maxMediaBytes?: number | undefined;
  /** Largest file that is written or edited. Default: 10 MB. */
  readonly maxWriteBytes?: number | undefined;
  /** Names or lines that one search returns at most. Default: 1,000. */
  readonly maxResults?: number | undefined;
  /** Time limit of one search. Default: 10,000. */
  readonly searchTimeMs?: number | undefined;
  /** Use the optional package `koffi` if it is installed. Default: yes. */
  readonly openat2?: boolean | undefined;
}

const most = 2 ** 30;
const limits: LimitTable<keyof FileLimits> = {
  maxFileBytes: { usual: 200_000, most },
  maxMediaBytes: { usual: 10_000_000, most },
  maxWriteBytes: { usual: 10_000_000, most },
  maxResults: { usual: 1_000, most },
  searchTimeMs: { usual: 10_000, most },
};

/**
 * Tools to read, list, find and search files beneath roots; with `write` and `delete`, to change them.
 *
 * @example
 * const runtime = await createRuntime({
 *   tools: [...fileTools({ runs: openRunFolders(".postern/runs"), roots: { docs: { path: "docs" } }, write: true })],
 * });
 *
 * @throws RuntimeFault `options_invalid` for an invalid root or limit, and if the guard is not safe on this system
 * @public
 */
export function fileTools(options: FileToolOptions): readonly LocalTool[] {
  return fileToolsOn(options, realDisk);
}

/** With a disk of the caller's: tests pass a full one. */
export function fileToolsOn(options: FileToolOptions, disk: Disk): readonly LocalTool[] {
  const kit = fileKit(options, disk);
  return [
    ...readTools(kit),
    ...searchTools(kit),
    ...(options.write === true ? [...writeTools(kit), moveTool(kit)] : []),
    ...(options.delete === true ? [deleteTool(kit)] : []),
  ];
}

/** Shared by all toolsets of the process, because they may share a folder. */
const locks = new Locks();

/** What file tools need, also provider-defined ones. */
export function fileKit(options: FileToolOptions, disk: Disk = realDisk): FileKit {
  return {
    roots: new FileRoots(options),
    limits: checkedLimits(options, limits, "options_invalid"),
    mayWrite: options.write === true || options.delete === true,
    searches: new SearchThreads(),
    locks,
    disk,
    reach: folderOpener(options.openat2 !== false),
  };
}
