import { type Dirent, readdirSync } from "node:fs";
import type { Folder } from "../guard/folder.ts";
import { rejectionOf } from "../guard/rejection.ts";
import { draftName } from "../writing.ts";
import { IgnoreRules } from "./ignored.ts";
import type { ListedEntry, Truncated } from "./job.ts";

/** A name in the tree. `folder` is open during the visit. */
export interface TreeEntry {
  readonly folder: Folder;
  readonly name: string;
  readonly type: ListedEntry["type"];
  /** Names from the root, the last one included. */
  readonly names: readonly string[];
  /** 1 in the folder where the search began. */
  readonly depth: number;
}

export interface TreeOptions {
  readonly includeIgnored: boolean;
  readonly maxDepth: number;
  /** `performance.now()` at which it stops. */
  readonly until: number;
  /** Returns false to stop. */
  readonly visit: (met: TreeEntry) => boolean;
}

/** Deeper trees are cut: each level holds a descriptor. */
export const mostLevels = 64;

/**
 * Walks a tree by open folders, names in order, links never followed. A folder that disappears or cannot be opened is only
 * counted, because other processes work in the tree.
 */
export class TreeWalk {
  readonly skipped: Map<string, number> = new Map();
  truncated: Truncated | undefined;
  readonly #options: TreeOptions;

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  /** @param start names from the root to where it begins */
  run(root: Folder, start: readonly string[]): void {
    const { includeIgnored } = this.#options;
    using folder = root.descend(start);
    const above = includeIgnored ? IgnoreRules.none : rulesAbove(root, start);
    this.#enter(folder, { names: start, depth: 1 }, above);
  }

  skip(why: string): void {
    this.skipped.set(why, (this.skipped.get(why) ?? 0) + 1);
  }

  /** Returns false to stop the walk. */
  #enter(folder: Folder, { names, depth }: Pick<TreeEntry, "names" | "depth">, above: IgnoreRules): boolean {
    const entries = readdirSync(folder.self, { withFileTypes: true }).sort(byName);
    const hasRules = !this.#options.includeIgnored && entries.some(({ name }) => name === ".gitignore");
    const rules = hasRules ? above.within(folder, names.length) : above;
    for (const entry of entries) {
      if (performance.now() > this.#options.until) {
        this.truncated = "time";
        return false;
      }
      const met = { folder, name: entry.name, type: typeOf(entry), names: [...names, entry.name], depth };
      if (this.#leavesOut(met, rules)) continue;
      if (!this.#options.visit(met)) {
        this.truncated ??= "results";
        return false;
      }
      if (met.type === "folder" && !this.#descend(met, rules)) return false;
    }
    return true;
  }

  #leavesOut({ name, names, type }: TreeEntry, rules: IgnoreRules): boolean {
    if (draftName.test(name)) return true;
    if (this.#options.includeIgnored) return false;
    const leaves = name === ".git" || rules.ignores(names, type === "folder");
    if (leaves) this.skip("ignored");
    return leaves;
  }

  #descend({ folder, name, names, depth }: TreeEntry, rules: IgnoreRules): boolean {
    if (depth >= this.#options.maxDepth) return true;
    if (depth >= mostLevels) {
      this.truncated ??= "depth";
      return true;
    }
    try {
      using inner = folder.descend([name]);
      return this.#enter(inner, { names, depth: depth + 1 }, rules);
    } catch (error) {
      const rejection = rejectionOf(error);
      if (rejection === undefined) throw error;
      this.skip(rejection.reason);
      return true;
    }
  }
}

/** The rules of the folders above the start. A named folder is searched even if it is ignored. */
function rulesAbove(root: Folder, start: readonly string[]): IgnoreRules {
  let rules = IgnoreRules.none;
  for (let depth = 0; depth < start.length; depth += 1) {
    using folder = root.descend(start.slice(0, depth));
    rules = rules.within(folder, depth);
    if (rules.ignores(start.slice(0, depth + 1), true)) return IgnoreRules.none;
  }
  return rules;
}

function byName(one: Dirent, other: Dirent): number {
  return one.name < other.name ? -1 : 1;
}

function typeOf(entry: Dirent): ListedEntry["type"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "other";
}
