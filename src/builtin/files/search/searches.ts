import { availableParallelism } from "node:os";
import { FileRejection } from "../guard/rejection.ts";
import type { GrepMatch, SearchJob, SearchResult } from "./job.ts";
import { type SearchLimits, SearchThread } from "./thread.ts";

const maxWaiting = 64;

/** A few threads for all searches. A search of contents is shared out among them; the others take the one that is least busy. */
export class Searches {
  readonly #threads: readonly SearchThread[];

  constructor(threads: number = Math.max(1, Math.min(4, availableParallelism()))) {
    this.#threads = Array.from({ length: threads }, () => new SearchThread());
  }

  /** @throws Rejection */
  async run(job: SearchJob, limits: SearchLimits): Promise<SearchResult> {
    if (this.#threads.some(({ waiting }) => waiting >= maxWaiting)) throw new FileRejection("busy");
    const { task } = job;
    if (task.kind !== "grep") return this.#idlest().run(job, limits);
    const shares = this.#threads.map((thread, number) =>
      thread.run({ ...job, task: { ...task, share: { number, of: this.#threads.length } } }, limits),
    );
    return together(await allOf(shares), job.maxResults);
  }

  #idlest(): SearchThread {
    return this.#threads.reduce((best, thread) => (thread.waiting < best.waiting ? thread : best));
  }
}

/** All of them have ended before one's failure is told: they share the root. */
async function allOf(shares: readonly Promise<SearchResult>[]): Promise<readonly SearchResult[]> {
  await Promise.allSettled(shares);
  return Promise.all(shares);
}

function together(shares: readonly SearchResult[], maxResults: number): SearchResult {
  const matches = shares.flatMap((share) => share.matches).sort(inOrder);
  const skipped = new Map<string, number>();
  for (const share of shares)
    for (const [why, count] of Object.entries(share.skipped)) skipped.set(why, (skipped.get(why) ?? 0) + count);
  return {
    entries: [],
    paths: [],
    matches: matches.slice(0, maxResults),
    files: shares.reduce((sum, share) => sum + share.files, 0),
    truncated:
      matches.length > maxResults ? "results" : shares.find(({ truncated }) => truncated !== undefined)?.truncated,
    skipped: Object.fromEntries(skipped),
  };
}

/** As a walk meets them: what is in a folder stands where the folder does. */
function inOrder(one: GrepMatch, other: GrepMatch): number {
  if (one.path === other.path) return one.line - other.line;
  return one.path.replaceAll("/", "\0") < other.path.replaceAll("/", "\0") ? -1 : 1;
}
