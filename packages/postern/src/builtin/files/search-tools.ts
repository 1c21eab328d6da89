import type { JsonObject } from "@postern/core";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolContext } from "../../tools/tool.ts";
import { HeldFolder } from "./guard/folder.ts";
import { asOnDisk } from "./guard/spelling.ts";
import { type FileKit, fileTool, flag, inputSchema, openRootOf, pathOf, text, wholeNumber } from "./kit.ts";
import { onlyReads } from "./reads.ts";
import type { SearchJob, SearchResult } from "./search/job.ts";

interface SearchInput {
  readonly path?: string;
  readonly include_ignored?: boolean;
}

interface PatternInput extends SearchInput {
  readonly pattern: string;
}

interface GrepInput extends PatternInput {
  readonly files?: string;
  readonly literal?: boolean;
  readonly ignore_case?: boolean;
  readonly max_matches?: number;
}

type WantedSearch = Pick<SearchJob, "task"> & { readonly given: SearchInput; readonly maxResults?: number };

const shared = {
  path: text("Path of the folder, from its root. Left out: all of the root that paths are in which name none."),
  include_ignored: flag("Also what .gitignore leaves out, and .git itself."),
};
const maxDepth = 20;
/** A search stops by itself before it must be stopped. */
export const softShare = 0.8;

/** `list_files`, `glob_files` and `grep_files`: they walk a tree in a worker that can be stopped. */
export function searchTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  return [
    fileTool<SearchInput & { readonly depth?: number }>(kit, {
      ...onlyReads,
      name: "list_files",
      description: `Lists what is in a folder, without what .gitignore leaves out; links are shown, not followed. ${where}`,
      input: inputSchema({ ...shared, depth: wholeNumber(1, maxDepth, "How many levels; 1 when left out.") }, []),
      pathOf,
      run: async (given, context) => {
        const found = await search(kit, { given, task: { kind: "list", depth: given.depth ?? 1 } }, context);
        const entries = found.entries.map((entry) => ({ ...entry }));
        return { structured: { ...noteOf(kit, given, entries), entries, ...endOf(found) } };
      },
    }),
    fileTool<PatternInput>(kit, {
      ...onlyReads,
      name: "glob_files",
      description: `Finds files and folders by name: \`**/*.ts\`, \`src/{a,b}/*.md\`, \`[A-Z]?.txt\`. The pattern is matched against the path from \`path\` on. ${where}`,
      input: inputSchema({ ...shared, pattern: text("With *, **, ?, [a-z] and {a,b}.") }, ["pattern"]),
      pathOf,
      run: async (asked, context) => {
        const { given, pattern } = fromRoot(kit, asked, asked.pattern);
        const found = await search(kit, { given, task: { kind: "glob", pattern } }, context);
        return { structured: { ...noteOf(kit, given, found.paths), paths: [...found.paths], ...endOf(found) } };
      },
    }),
    grepTool(kit, where),
  ];
}

function grepTool(kit: FileKit, where: string): LocalTool {
  return fileTool<GrepInput>(kit, {
    ...onlyReads,
    name: "grep_files",
    description: `Finds lines that match a regular expression (RE2: no look-around, no back-references) in the text files of a folder, or in one file. ${where}`,
    input: inputSchema(
      {
        ...shared,
        pattern: text("The expression; with `literal`, the text itself."),
        files: text("Only files whose path from `path` on fits this glob; without `path` it may begin with a root."),
        literal: flag("The pattern is plain text."),
        ignore_case: flag("Large and small letters are the same."),
        max_matches: wholeNumber(1, kit.limits.maxResults, "At most so many lines."),
      },
      ["pattern"],
    ),
    pathOf,
    run: async (asked, context) => {
      const { pattern, literal = false, ignore_case: ignoreCase = false, max_matches: most } = asked;
      const { given, pattern: files } = fromRoot(kit, asked, asked.files);
      const { path = "" } = given;
      const task = { kind: "grep", pattern, literal, ignoreCase, files } as const;
      const found = await search(kit, { given, task, ...(most !== undefined && { maxResults: most }) }, context);
      context.emit("file.read", `searched ${found.files} files`, { path, files: found.files });
      const matches = found.matches.map((match) => ({ ...match }));
      return { structured: { ...noteOf(kit, given, matches), matches, files: found.files, ...endOf(found) } };
    },
  });
}

/** The root stays open until the search has ended, also if it had to be stopped. */
export async function search(
  kit: FileKit,
  { given, ...wanted }: WantedSearch,
  context: ToolContext,
): Promise<SearchResult> {
  const name = kit.roots.parse(given.path ?? "");
  using root = await openRootOf(kit, name, context);
  const start = asOnDisk(root, name.parts);
  const { rules } = root;
  const { searchTimeMs: limitMs, maxResults } = kit.limits;
  const job: SearchJob = {
    root: root instanceof HeldFolder ? { descriptor: root.descriptor, rules } : { path: root.self, rules },
    start,
    shown: name.root,
    includeIgnored: given.include_ignored === true,
    maxResults,
    softLimitMs: limitMs * softShare,
    ...wanted,
  };
  return await kit.searches.run(job, { limitMs, signal: context.signal }); // awaited here: the root closes after it
}

/** A pattern without a path that begins with a root's name is taken from that root, as a path is. */
function fromRoot<Pattern extends string | undefined>(
  { roots }: FileKit,
  given: SearchInput,
  pattern: Pattern,
): { readonly given: SearchInput; readonly pattern: Pattern | string } {
  if (pattern === undefined || !/^[./]*$/.test(given.path ?? "")) return { given, pattern };
  const plain = pattern.replace(/^(?:\.\/+)+/, "");
  const [, first = "", rest = ""] = /^([^/]+)\/+(.*)$/s.exec(plain) ?? [];
  if (!roots.has(first)) return { given, pattern: plain };
  return { given: { ...given, path: first }, pattern: rest === "" ? "*" : rest };
}

/** An empty answer says which roots were not looked into. */
function noteOf({ roots }: FileKit, { path = "" }: SearchInput, found: readonly unknown[]): JsonObject {
  const note = found.length > 0 ? undefined : roots.elsewhere(path);
  return note === undefined ? {} : { note };
}

function endOf({ truncated, skipped }: SearchResult): JsonObject {
  return {
    ...(truncated !== undefined && { truncated }),
    ...(Object.keys(skipped).length > 0 && { skipped: { ...skipped } }),
  };
}
