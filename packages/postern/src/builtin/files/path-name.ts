import { FileRejection } from "./guard/rejection.ts";

/** The root of a path and the names beneath it. No name is empty, `.` or `..`. */
export interface PathName {
  readonly root: string;
  readonly parts: readonly string[];
  /** The path from its root, always in the same form, for rules and people: one text for all Unicode forms of a name. */
  readonly shown: string;
  /** Whether it ends with a slash. */
  readonly mustBeFolder: boolean;
}

/** The run's own record is beside the workspace. */
const reserved: ReadonlySet<string> = new Set(["logs", "archive", "events.jsonl"]);
const maxPathBytes = 4_095;
const maxPartBytes = 255;

/**
 * @param roots by name
 * @param home the root of paths that name none. Without it, each path must name its root
 * @throws FileRejection
 */
export function parsePath(given: string, roots: ReadonlyMap<string, unknown>, home: string | undefined): PathName {
  if (typeof given !== "string" || given.includes("\0") || Buffer.byteLength(given) > maxPathBytes)
    throw new FileRejection("path_invalid");
  if (given.startsWith("/") || (process.platform === "win32" && /[\\:]/.test(given)))
    throw new FileRejection("absolute");
  const names = given.split("/").filter((name) => name !== "" && name !== ".");
  for (const name of names) {
    if (name === "..") throw new FileRejection("parent");
    if (Buffer.byteLength(name) > maxPartBytes) throw new FileRejection("path_invalid");
  }
  const [first, ...rest] = names;
  const mustBeFolder = /(^|\/)\.?$/.test(given);
  if (first !== undefined && roots.has(first)) return named(first, rest, mustBeFolder);
  if (home === undefined)
    throw new FileRejection(
      "root_unknown",
      `begins with no root that can be used here; the roots are ${listed(roots)}.`,
    );
  if (first !== undefined && reserved.has(first)) throw new FileRejection("reserved");
  return named(home, names, mustBeFolder);
}

function named(root: string, parts: readonly string[], mustBeFolder: boolean): PathName {
  return { root, parts, shown: [root, ...parts].join("/").normalize("NFC"), mustBeFolder };
}

function listed(roots: ReadonlyMap<string, unknown>): string {
  return roots.size === 0 ? "none" : [...roots.keys()].map((name) => `\`${name}/\``).join(", ");
}
