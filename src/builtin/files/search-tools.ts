import type { JsonObject } from "../../core/json.ts";
import { defineTool } from "../../tools/define.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { HeldFolder } from "./guard/folder.ts";
import { answering, type FileKit, reach } from "./kit.ts";
import { onlyReads } from "./read-tools.ts";
import { flag, folderPath, input, text, wholeNumber } from "./schemas.ts";
import type { SearchJob, SearchResult } from "./search/job.ts";

interface SearchInput {
  readonly path?: string;
  readonly include_ignored?: boolean;
}

interface ListInput extends SearchInput {
  readonly depth?: number;
}

interface GlobInput extends SearchInput {
  readonly pattern: string;
}

interface GrepInput extends GlobInput {
  readonly files?: string;
  readonly literal?: boolean;
  readonly ignore_case?: boolean;
  readonly max_matches?: number;
}

type WantedSearch = Pick<SearchJob, "task"> & { readonly given: SearchInput; readonly maxResults?: number };

const ignored = flag("Also what .gitignore leaves out, and .git itself.");
const pattern = text("With *, **, ?, [a-z] and {a,b}.");
const maxDepth = 20;
/** A search stops by itself before it has to be stopped. */
const softShare = 0.8;

/** `list_files`, `glob_files` and `grep_files` (SPEC 15.1): they walk a tree in a worker that can be stopped. */
export function searchTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  const list = answering(pathOf, listFiles(kit));
  const glob = answering(pathOf, globFiles(kit));
  const depth = wholeNumber(1, maxDepth, "How many levels; 1 when left out.");
  return [
    defineTool({
      ...onlyReads,
      name: "list_files",
      description: `Lists what is in a folder, without what .gitignore leaves out; links are shown, not followed. ${where}`,
      input: input({ path: folderPath, depth, include_ignored: ignored }, []),
      execute: (given, context) => list(given as unknown as ListInput, context), // the schema says so
    }),
    defineTool({
      ...onlyReads,
      name: "glob_files",
      description: `Finds files and folders by name: \`**/*.ts\`, \`src/{a,b}/*.md\`, \`[A-Z]?.txt\`. The pattern is matched against the path from \`path\` on. ${where}`,
      input: input({ pattern, path: folderPath, include_ignored: ignored }, ["pattern"]),
      execute: (given, context) => glob(given as unknown as GlobInput, context), // the schema says so
    }),
    grepTool(kit, where),
  ];
}

function grepTool(kit: FileKit, where: string): LocalTool {
  const grep = answering(pathOf, grepFiles(kit));
  return defineTool({
    ...onlyReads,
    name: "grep_files",
    description: `Finds lines that match a regular expression (RE2: no look-around, no back-references) in the text files of a folder, or in one file. ${where}`,
    input: input(
      {
        pattern: text("The expression; with `literal`, the text itself."),
        path: folderPath,
        files: text("Only files whose path from `path` on fits this glob."),
        literal: flag("The pattern is plain text."),
        ignore_case: flag("Large and small letters are the same."),
        max_matches: wholeNumber(1, kit.limits.maxResults, "At most so many lines."),
        include_ignored: ignored,
      },
      ["pattern"],
    ),
    execute: (given, context) => grep(given as unknown as GrepInput, context), // the schema says so
  });
}

function listFiles(kit: FileKit) {
  return async (given: ListInput, context: ToolContext): Promise<ToolAnswer> => {
    const found = await search(kit, { given, task: { kind: "list", depth: given.depth ?? 1 } }, context);
    return { structured: { entries: found.entries.map((entry) => ({ ...entry })), ...endOf(found) } };
  };
}

function globFiles(kit: FileKit) {
  return async (given: GlobInput, context: ToolContext): Promise<ToolAnswer> => {
    const found = await search(kit, { given, task: { kind: "glob", pattern: given.pattern } }, context);
    return { structured: { paths: [...found.paths], ...endOf(found) } };
  };
}

function grepFiles(kit: FileKit) {
  return async (given: GrepInput, context: ToolContext): Promise<ToolAnswer> => {
    const { literal = false, ignore_case: ignoreCase = false, files, max_matches: most } = given;
    const share = { number: 0, of: 1 };
    const task = { kind: "grep", pattern: given.pattern, literal, ignoreCase, files, share } as const;
    const found = await search(kit, { given, task, ...(most !== undefined && { maxResults: most }) }, context);
    const { path = "" } = given;
    context.emit("file.read", `searched ${found.files} files`, { path, files: found.files });
    return {
      structured: { matches: found.matches.map((match) => ({ ...match })), files: found.files, ...endOf(found) },
    };
  };
}

/** The root is held until the search has ended, also where it had to be killed. */
export async function search(
  kit: FileKit,
  { given, ...wanted }: WantedSearch,
  context: ToolContext,
): Promise<SearchResult> {
  const searches = await kit.searches();
  const name = kit.roots.parse(given.path ?? "");
  using reached = await reach(kit, name, context);
  const { root } = reached;
  const { rules } = root;
  const { searchTimeMs: limitMs, maxResults } = kit.limits;
  const job: SearchJob = {
    root: root instanceof HeldFolder ? { descriptor: root.descriptor, rules } : { path: root.self, rules },
    start: name.parts,
    shown: name.root,
    includeIgnored: given.include_ignored === true,
    maxResults,
    softLimitMs: limitMs * softShare,
    ...wanted,
  };
  return await searches.run(job, { limitMs, signal: context.signal }); // awaited here: the root is let go after it
}

function pathOf({ path = "" }: SearchInput): string {
  return path;
}

function endOf({ truncated, skipped }: SearchResult): JsonObject {
  return {
    ...(truncated !== undefined && { truncated }),
    ...(Object.keys(skipped).length > 0 && { skipped: { ...skipped } }),
  };
}
