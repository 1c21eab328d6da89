import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Archive } from "./archive.ts";
import { folderName } from "./folders.ts";
import { summaryIn } from "./kept.ts";
import type { RunSummary } from "./runs.ts";
import { readWholeFile } from "./whole-file.ts";

interface Written {
  readonly name: string;
  /** When its `run.json` was written, in milliseconds, and how long it is. */
  readonly at: number;
  readonly bytes: number;
}

/** Read side by side. */
const atOnce = 64;
const mostRead = 10_000;

/** Runs as a list: what is written now is told from memory, the rest by its `run.json`, which is read once as long as it stays what it is. */
export class RunListing {
  readonly #archive: Pick<Archive, "folder" | "runs">;
  readonly #read = new Map<string, Written & { readonly summary: RunSummary | undefined }>();

  constructor(archive: Pick<Archive, "folder" | "runs">) {
    this.#archive = archive;
  }

  /** What is written now first, then what was written last. */
  async latest(isWanted: (summary: RunSummary) => boolean, limit: number): Promise<readonly RunSummary[]> {
    const live = this.#archive.runs.all().map((run) => run.summary(true));
    const found = live.filter(isWanted).sort((one, other) => (one.last_event_at < other.last_event_at ? 1 : -1));
    if (found.length >= limit) return found.slice(0, limit);
    const names = new Set(live.map(({ tenant, run_id }) => folderName(tenant, run_id)));
    const others = await this.#written(names);
    for (let from = 0; from < others.length && found.length < limit; from += atOnce) {
      const some = await Promise.all(others.slice(from, from + atOnce).map((written) => this.#summary(written)));
      found.push(...some.filter((summary) => summary !== undefined).filter(isWanted));
    }
    return found.slice(0, limit);
  }

  /** As its folder says; a run that nobody here writes to has stopped, whatever its process last said. */
  async kept(name: string): Promise<RunSummary | undefined> {
    const path = join(this.#archive.folder, name, "run.json");
    const text = await readWholeFile(path).catch(() => undefined); // unreadable: it is none
    const summary = text === undefined ? undefined : summaryIn(text);
    if (summary === undefined || this.#archive.runs.get(summary.tenant, summary.run_id) !== undefined) return summary;
    return summary.state === "started" || summary.state === "running" ? { ...summary, state: "stopped" } : summary;
  }

  /** The one that was written last first. */
  async #written(leftOut: ReadonlySet<string>): Promise<readonly Written[]> {
    const entries = await readdir(this.#archive.folder, { withFileTypes: true });
    const written = await Promise.all(
      entries
        .filter((entry) => entry.isDirectory() && !leftOut.has(entry.name))
        .map(async ({ name }) => {
          const found = await lstat(join(this.#archive.folder, name, "run.json")).catch(() => undefined); // no run
          return found === undefined ? [] : [{ name, at: found.mtimeMs, bytes: found.size }];
        }),
    );
    return written.flat().sort((one, other) => other.at - one.at);
  }

  async #summary(written: Written): Promise<RunSummary | undefined> {
    const { name, at, bytes } = written;
    const known = this.#read.get(name);
    if (known !== undefined && known.at === at && known.bytes === bytes) return known.summary;
    const found = await this.kept(name);
    const isItsOwn = found !== undefined && folderName(found.tenant, found.run_id) === name; // a copy is no run
    const summary = isItsOwn ? found : undefined;
    if (this.#read.size >= mostRead) this.#read.clear();
    this.#read.set(name, { ...written, summary });
    return summary;
  }
}
