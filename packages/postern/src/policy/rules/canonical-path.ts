import { globMatcher } from "./glob.ts";

/** Whether a value lies inside a rule's `path`. `unclear`: only the file system could tell. */
export type PathAnswer = "inside" | "outside" | "unclear";

/** Whether the text does not tell where it leads: `..`, a backslash, NUL, a percent escape, a home, a drive or a scheme. */
function isUnclear(path: string): boolean {
  if (path === "" || path.startsWith("~") || path.includes("\\") || path.includes("\0")) return true;
  if (path.includes("%") && /%[0-9a-f]{2}/i.test(path)) return true;
  return path.includes(":/") && /^[a-z][a-z0-9+.-]*:\//i.test(path);
}

/**
 * The components of a POSIX path without `.` and empty ones. Returns undefined if the text does not tell where it
 * leads.
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

/** Returns why a pattern is invalid, or undefined if it is valid. */
export function pathPatternProblem(pattern: string): string | undefined {
  const parts = canonicalParts(pattern);
  if (parts === undefined) return "not canonical: no `..`, `\\`, `~`, `%2e` or scheme in it";
  if (parts.some((part) => part.includes("**") && part !== "**")) return "not clear: `**` stands alone between slashes";
  return undefined;
}

/**
 * Matches a path against several globs. `*` stays inside one component; `**` is any number of them, also none, so `/a/**`
 * matches `/a`. A relative value is resolved against `relativeTo`, if that is given.
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
        answer = "unclear"; // only the tool knows the base
      else if (fits(glob.wanted, parts)) return "inside";
    }
    return answer;
  };
}

function componentMatcher(part: string): (name: string) => boolean {
  return part.includes("*") ? globMatcher(part) : (name) => name === part;
}

/** Each `**` takes as little as it can. Only the last one is extended, so the cost is the product of both lengths. */
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
