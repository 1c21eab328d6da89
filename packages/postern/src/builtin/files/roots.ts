import { closeSync, constants, openSync, realpathSync, type Stats, statfsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { type Principal, RuntimeFault } from "@postern/core";
import { codeOf, whyUnreadable } from "@postern/core/system";
import type { RunFolders } from "../../system/run-folders.ts";
import { type Beneath, canHold, type Folder } from "./guard/folder.ts";
import { openRoot } from "./guard/plain-folder.ts";
import { FileRejection } from "./guard/rejection.ts";
import { type PathName, parsePath } from "./path-name.ts";

/**
 * A folder that tools may see.
 *
 * @public
 */
export interface FileRoot {
  /** Relative to the working folder. Links in it are followed once, when the tools are made. */
  readonly path: string;
  /** Tools may change what is in it. Default: they only read. */
  readonly writable?: boolean | undefined;
}

/** The caller decides which run's folders are used. */
export interface FileCaller {
  readonly principal: Pick<Principal, "tenant">;
  readonly runId: string;
}

/**
 * The folders that tools may see, and how they are guarded.
 *
 * @public
 */
export interface RootsOptions {
  /** Gives every run its own `workspace/` and `deliverables/`. A path without a root is in `workspace/`, or in the only root. */
  readonly runs?: RunFolders | undefined;
  /** Further folders, by the name paths begin with. */
  readonly roots?: Readonly<Record<string, FileRoot>> | undefined;
  /** Folders no root may hold or lie in: the data folder of Postern. */
  readonly outOfReach?: readonly string[] | undefined;
  /** Files that no writable root may hold: the configuration of Postern. */
  readonly notWritable?: readonly string[] | undefined;
  /** Use files that have a second name, which may be outside the root. Default: no. */
  readonly hardLinks?: boolean | undefined;
  /** Accept a system other than Linux, where a process that swaps links can defeat the guard. */
  readonly notRaceSafe?: boolean | undefined;
}

interface Root {
  readonly writable: boolean;
  /** Undefined for a folder of the run. */
  readonly fixed: { readonly path: string; readonly device: number; readonly inode: number } | undefined;
}

const runRoots = ["workspace", "deliverables"] as const;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
const taken: ReadonlySet<string> = new Set(["logs", "archive"]);
const procMagic = 0x9fa0;

/** The folders that tools may see, by the name that paths begin with. No folder stays open between two calls. */
export class FileRoots {
  readonly #roots = new Map<string, Root>();
  readonly #runs: RunFolders | undefined;
  readonly #hardLinks: boolean;

  /** @throws RuntimeFault `options_invalid` for a root that must not be one, and if the guard is not safe on this system */
  constructor(options: RootsOptions) {
    const { runs, roots = {}, hardLinks = false, notRaceSafe = false } = options;
    if (!canHold() && !notRaceSafe)
      throw new RuntimeFault(
        "options_invalid",
        `On this system (${process.platform}, no \`/proc/self/fd\`) the file tools cannot be kept beneath their roots against a process that swaps folders for links. Run them on Linux, or set \`notRaceSafe: true\` if no other program writes to the roots.`,
      );
    this.#runs = runs;
    this.#hardLinks = hardLinks;
    if (runs !== undefined) for (const name of runRoots) this.#roots.set(name, { writable: true, fixed: undefined });
    for (const [name, root] of Object.entries(roots)) {
      if (!namePattern.test(name) || taken.has(name) || this.#roots.has(name))
        throw invalid(
          name,
          "is not a name for a root: 1 to 32 of A-Z a-z 0-9 _ -, and not one of the run's own folders",
        );
      this.#roots.set(name, checkedRoot(name, root, options));
    }
    if (this.#roots.size === 0)
      throw new RuntimeFault("options_invalid", "The file tools have no roots: give them `runs`, `roots` or both.");
  }

  /** For people and models: every root, and what may be done there. */
  describe(mayWrite: boolean): string {
    const roots = [...this.#roots].map(
      ([name, { writable }]) => `${name}/${writable && mayWrite ? "" : " (read-only)"}`,
    );
    const home = this.#home === undefined ? "" : `; a path that names none of them is in ${this.#home}/`;
    return `Paths begin with a root: ${roots.join(", ")}${home}.`;
  }

  /** @throws FileRejection */
  parse(path: string): PathName {
    return parsePath(path, this.#roots, this.#home);
  }

  /**
   * For an answer that found nothing: the roots that were not looked into. Returns undefined if the path names its root, or
   * if there is no other.
   *
   * @throws FileRejection
   */
  elsewhere(path: string): string | undefined {
    const { root } = this.parse(path);
    const [first = ""] = path.split("/").filter((name) => name !== "" && name !== ".");
    const others = [...this.#roots.keys()].filter((name) => name !== root).map((name) => `${name}/`);
    if (this.#roots.has(first) || others.length === 0) return undefined;
    return `Only ${root}/ was looked into, because the path names no root; there are also ${others.join(", ")}.`;
  }

  /** @throws FileRejection */
  parseForWriting(path: string): PathName {
    const name = this.parse(path);
    if (this.#roots.get(name.root)?.writable !== true) throw new FileRejection("read_only");
    if (name.parts.some((part) => part.toLowerCase() === ".git")) throw new FileRejection("protected");
    return name;
  }

  /** Opens the root itself. The caller disposes of it. */
  open(name: string, caller: FileCaller, beneath: Beneath): Folder {
    const root = this.#roots.get(name);
    if (root === undefined) throw new FileRejection("root_unknown");
    const options = { hardLinks: this.#hardLinks, beneath };
    if (root.fixed === undefined) return openRoot(join(this.#runFolder(caller), name), options);
    const { path, device, inode } = root.fixed;
    const check = ({ dev, ino }: Stats): void => {
      if (dev !== device || ino !== inode) throw new FileRejection("root_replaced");
    };
    return openRoot(path, { ...options, check });
  }

  has(name: string): boolean {
    return this.#roots.has(name);
  }

  /** Names one root of one run for locks. Two toolsets on one folder have the same name. */
  keyOf(name: string, { principal, runId }: FileCaller): string {
    return this.#roots.get(name)?.fixed?.path ?? JSON.stringify([principal.tenant, runId, name]);
  }

  get #home(): string | undefined {
    if (this.#roots.has("workspace")) return "workspace";
    const [only, ...others] = this.#roots.keys();
    return others.length === 0 ? only : undefined;
  }

  #runFolder({ principal, runId }: FileCaller): string {
    try {
      const folder = this.#runs?.open(principal.tenant, runId);
      if (folder !== undefined) return folder;
    } catch (error) {
      if (!(error instanceof RuntimeFault)) throw error;
    }
    throw new FileRejection("run_unusable"); // the fault's own message holds a path of the machine
  }
}

/** Postern's own data and configuration are out of reach of the tools that agents get. */
function checkedRoot(name: string, { path: given, writable = false }: FileRoot, options: RootsOptions): Root {
  const { path, stats } = existing(name, given);
  for (const own of (options.outOfReach ?? []).map(real)) {
    if (isWithin(own, path) || isWithin(path, own))
      throw invalid(
        name,
        `is \`${path}\`, and \`${own}\` (Postern's own data) must not lie in it nor around it; choose a folder beside it`,
      );
  }
  for (const file of writable ? (options.notWritable ?? []).map(real) : []) {
    if (isWithin(file, path) || isWithin(path, file))
      throw invalid(
        name,
        `is writable and holds \`${file}\`, which Postern itself reads; make the root read-only or move that file`,
      );
  }
  return { writable, fixed: { path, device: stats.dev, inode: stats.ino } };
}

function existing(name: string, given: string): { readonly path: string; readonly stats: Stats } {
  try {
    const path = realpathSync(resolve(given));
    closeSync(openSync(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)));
    if (process.platform === "linux" && statfsSync(path).type === procMagic)
      throw new Error("it shows this process itself");
    return { path, stats: statSync(path) };
  } catch (error) {
    const why = codeOf(error) === "ENOTDIR" ? "is no folder" : whyUnreadable(error);
    throw invalid(name, `is \`${given}\`, which ${why}; name a folder that exists`);
  }
}

/** The real path, also if the file does not exist yet. */
function real(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    return dirname(whole) === whole ? whole : join(real(dirname(whole)), basename(whole)); // its folder is checked instead
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function invalid(name: string, what: string): RuntimeFault {
  return new RuntimeFault("options_invalid", `The root \`${name}\` ${what}.`);
}
