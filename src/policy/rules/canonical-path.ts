import { globMatcher } from "./glob.ts";

/** What a rule's `path` says of a value: it lies there, it does not, or nobody can tell before the file system was asked. */
export type PathAnswer = "inside" | "outside" | "unclear";

/** `..`, a backslash, NUL, a percent escape that some server decodes, a home, a drive or a scheme: where it leads is not in its text. */
function isUnclear(path: string): boolean {
  if (path === "" || path.startsWith("~") || path.includes("\\") || path.includes("\0")) return true;
  if (path.includes("%") && /%[0-9a-f]{2}/i.test(path)) return true;
  return path.includes(":/") && /^[a-z][a-z0-9+.-]*:\//i.test(path);
}

/**
 * The components of a POSIX path, with `.` and empty ones left out; undefined when its text does not say where it leads.
 * A leading `/` is the first component, empty.
 */
export function canonicalParts(path: string): readonly string[] | undefined {
  if (isUnclear(path)) return undefined;
  const parts: string[] = path.startsWith("/") ? [""] : [];
  for (const part of path.split("/")) {
    if (part === "..") return undefined;
    if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}

/** Why a pattern cannot be one; undefined: it can. */
export function pathPatternProblem(pattern: string): string | undefined {
  const parts = canonicalParts(pattern);
  if (parts === undefined) return "not canonical: no `..`, `\\`, `~`, `%2e` or scheme in it";
  if (parts.some((part) => part.includes("**") && part !== "**")) return "not clear: `**` stands alone between slashes";
  return undefined;
}

/**
 * A matcher for globs on paths, one of which is enough: `*` stays inside one component, `**` is any number of them, none
 * included; so `/a/**` is `/a` as well. A relative value is taken as beneath `relativeTo`, when that is given.
 */
export function pathMatcher(patterns: readonly string[], relativeTo?: string): (path: string) => PathAnswer {
  const globs = patterns.map((pattern) => ({
    absolute: pattern.startsWith("/"),
    wanted: (canonicalParts(pattern) ?? []).map((part) => (part === "**" ? undefined : componentMatcher(part))),
  }));
  const base = relativeTo === undefined ? undefined : canonicalParts(relativeTo);
  return (path) => {
    let parts = canonicalParts(path);
    if (parts === undefined) return globs.length === 0 ? "outside" : "unclear";
    if (base !== undefined && parts[0] !== "") parts = [...base, ...parts];
    const absolute = parts[0] === "";
    let answer: PathAnswer = "outside";
    for (const glob of globs) {
      if (glob.absolute !== absolute)
        answer = "unclear"; // relative to what? only the tool knows
      else if (fits(glob.wanted, parts)) return "inside";
    }
    return answer;
  };
}

function componentMatcher(part: string): (name: string) => boolean {
  return part.includes("*") ? globMatcher(part) : (name) => name === part;
}

/** Each `**` takes as little as it can; only the last one met ever takes more, so the cost is the product of both lengths. */
function fits(wanted: readonly (((name: string) => boolean) | undefined)[], parts: readonly string[]): boolean {
  let at = 0;
  let part = 0;
  let star = -1;
  let starPart = 0;
  while (part < parts.length) {
    const want = wanted[at];
    if (at < wanted.length && want === undefined) {
      star = at;
      starPart = part;
      at += 1;
    } else if (want?.(parts[part] ?? "")) {
      at += 1;
      part += 1;
    } else if (star >= 0) {
      at = star + 1;
      starPart += 1;
      part = starPart;
    } else {
      return false;
    }
  }
  while (at < wanted.length && wanted[at] === undefined) at += 1;
  return at === wanted.length;
}
