/**
 * The worker of search/thread.ts: walks a tree for one job at a time. It may be terminated at any moment, which closes its
 * descriptors. It gets the root's descriptor and no environment.
 */
import { lstatSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { messageOf } from "@postern/core";
import { type Folder, HeldFolder, walkBeneath } from "./guard/folder.ts";
import { PlainFolder } from "./guard/plain-folder.ts";
import { rejectionOf } from "./guard/rejection.ts";
import { Grep } from "./search/grep.ts";
import type { GlobTask, GrepTask, ListedEntry, ListTask, SearchAnswer, SearchJob, SearchResult } from "./search/job.ts";
import { pathMatcher } from "./search/pattern.ts";
import { mostLevels, type TreeEntry, TreeWalk } from "./search/tree.ts";

const nothing: SearchResult = { entries: [], paths: [], matches: [], files: 0, truncated: undefined, skipped: {} };

function answer(job: SearchJob): SearchAnswer {
  try {
    switch (job.task.kind) {
      case "list":
        return { found: list(job, job.task) };
      case "glob":
        return { found: glob(job, job.task) };
      case "grep":
        return { found: grep(job, job.task) };
      default:
        return job.task satisfies never;
    }
  } catch (error) {
    const rejection = rejectionOf(error);
    return rejection === undefined
      ? { broken: messageOf(error) }
      : { rejected: rejection.reason, detail: rejection.message };
  }
}

function list(job: SearchJob, { depth }: ListTask): SearchResult {
  const entries: ListedEntry[] = [];
  const walk = walkOver(job, depth, (met) => {
    if (entries.length >= job.maxResults) return false;
    const bytes = met.type === "file" ? lstatSync(met.folder.at(met.name), { throwIfNoEntry: false })?.size : undefined;
    entries.push({ path: shownOf(job, met), type: met.type, ...(bytes !== undefined && { bytes }) });
    return true;
  });
  return { ...nothing, entries, ...endOf(walk) };
}

function glob(job: SearchJob, { pattern }: GlobTask): SearchResult {
  const fits = pathMatcher(pattern);
  const paths: string[] = [];
  const walk = walkOver(job, mostLevels, (met) => {
    if (!fits(below(job, met))) return true;
    if (paths.length >= job.maxResults) return false;
    paths.push(shownOf(job, met) + (met.type === "folder" ? "/" : ""));
    return true;
  });
  return { ...nothing, paths, ...endOf(walk) };
}

function grep(job: SearchJob, task: GrepTask): SearchResult {
  const grep = new Grep(task, job.maxResults + 1);
  const walk = isFile(job) ? grepOneFile(job, grep) : grepTree(job, grep);
  const { files, skipped, isFull } = grep;
  return {
    ...nothing,
    matches: grep.matches.slice(0, job.maxResults),
    files,
    truncated: isFull ? "results" : walk?.truncated,
    skipped: Object.fromEntries([...(walk?.skipped ?? []), ...skipped]),
  };
}

function grepTree(job: SearchJob, grep: Grep): TreeWalk {
  return walkOver(job, mostLevels, (met) => {
    if (met.type === "file" && grep.wants(below(job, met))) grep.search(met, shownOf(job, met));
    return !grep.isFull;
  });
}

function isFile(job: SearchJob): boolean {
  try {
    rootOf(job).descend(job.start)[Symbol.dispose]();
    return false;
  } catch (error) {
    if (rejectionOf(error)?.reason === "not_a_folder") return true;
    throw error;
  }
}

function grepOneFile(job: SearchJob, grep: Grep): undefined {
  using folder = rootOf(job).descend(job.start.slice(0, -1));
  grep.search({ folder, name: job.start.at(-1) ?? "" }, shownOf(job, { names: job.start }));
}

function walkOver(job: SearchJob, maxDepth: number, visit: (met: TreeEntry) => boolean): TreeWalk {
  const until = performance.now() + job.softLimitMs;
  const walk = new TreeWalk({ includeIgnored: job.includeIgnored, maxDepth, until, visit });
  walk.run(rootOf(job), job.start);
  return walk;
}

/** Not disposed of here: the descriptor belongs to the main thread. */
function rootOf({ root }: SearchJob): Folder {
  return "path" in root
    ? new PlainFolder(root.path, root.rules)
    : new HeldFolder(root.descriptor, root.rules, walkBeneath);
}

function shownOf({ shown }: SearchJob, { names }: Pick<TreeEntry, "names">): string {
  return `${shown}/${names.join("/")}`;
}

/** The path from where the search began. Patterns match this path. */
function below({ start }: SearchJob, { names }: TreeEntry): string {
  return names.slice(start.length).join("/");
}

function endOf(walk: TreeWalk): Pick<SearchResult, "truncated" | "skipped"> {
  return { truncated: walk.truncated, skipped: Object.fromEntries(walk.skipped) };
}

const port = parentPort;
if (port !== null) {
  port.on("message", (job: SearchJob) => port.postMessage(answer(job)));
  port.postMessage({ ready: true } satisfies SearchAnswer);
}
