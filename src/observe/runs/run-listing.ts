import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeFault } from "../../core/fault.ts";
import type { Archive } from "./archive.ts";
import { folderName } from "./folders.ts";
import { summaryIn } from "./parse.ts";
import type { RunPage, RunSummary } from "./runs.ts";
import { readWholeFile } from "./whole-file.ts";

/** The place of a run in the list: open runs first, then the latest; equal times by name. */
interface ListedPlace {
  readonly isLive: boolean;
  /** Of its last event, or when its `run.json` was written: milliseconds. */
  readonly at: number;
  /** Its folder's. */
  readonly name: string;
}

interface Written extends ListedPlace {
  /** How long its `run.json` is. */
  readonly bytes: number;
}

export interface PageRequest {
  readonly isWanted: (summary: RunSummary) => boolean;
  readonly limit: number;
  /** A page's `nextAfter`. */
  readonly after?: string | undefined;
}

/** Read side by side. */
const atOnce = 64;
const mostRead = 10_000;

/** The list of runs. Open runs come from memory, others from their `run.json`, which is read again only if it changed. */
export class RunListing {
  readonly #archive: Pick<Archive, "folder" | "runs">;
  readonly #read = new Map<string, Written & { readonly summary: RunSummary | undefined }>();

  constructor(archive: Pick<Archive, "folder" | "runs">) {
    this.#archive = archive;
  }

  /** Open runs first, then the latest. */
  async page({ isWanted, limit, after }: PageRequest): Promise<RunPage> {
    const from = after === undefined ? undefined : placeIn(after);
    const found: { readonly summary: RunSummary; readonly place: ListedPlace }[] = [];
    const isBehind = (place: ListedPlace): boolean => from === undefined || inOrder(from, place) < 0;
    const live = this.#archive.runs.all().map((run) => placed(run.summary(true)));
    found.push(
      ...live
        .filter(({ summary, place }) => isWanted(summary) && isBehind(place))
        .sort((one, other) => inOrder(one.place, other.place)),
    );
    const others = found.length > limit ? [] : await this.#written(new Set(live.map(({ place }) => place.name)));
    const behind = others.filter(isBehind);
    for (let at = 0; at < behind.length && found.length <= limit; at += atOnce) {
      const some = behind.slice(at, at + atOnce);
      const read = await Promise.all(some.map((place) => this.#summary(place).then((summary) => ({ summary, place }))));
      for (const { summary, place } of read)
        if (summary !== undefined && isWanted(summary)) found.push({ summary, place });
    }
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return {
      runs: shown.map(({ summary }) => summary),
      ...(found.length > limit && last !== undefined && { nextAfter: cursorOf(last.place) }),
    };
  }

  /** As its folder says. A run that is not open here has stopped, whatever its file says. */
  async stored(name: string): Promise<RunSummary | undefined> {
    const path = join(this.#archive.folder, name, "run.json");
    const text = await readWholeFile(path).catch(() => undefined); // unreadable: it is none
    const summary = text === undefined ? undefined : summaryIn(text);
    if (summary === undefined || this.#archive.runs.get(summary.tenant, summary.run_id) !== undefined) return summary;
    return summary.state === "started" || summary.state === "running" ? { ...summary, state: "stopped" } : summary;
  }

  /** The latest first. */
  async #written(leftOut: ReadonlySet<string>): Promise<readonly Written[]> {
    const entries = await readdir(this.#archive.folder, { withFileTypes: true });
    const written = await Promise.all(
      entries
        .filter((entry) => entry.isDirectory() && !leftOut.has(entry.name))
        .map(async ({ name }) => {
          const found = await lstat(join(this.#archive.folder, name, "run.json")).catch(() => undefined); // no run
          return found === undefined ? [] : [{ isLive: false, name, at: found.mtimeMs, bytes: found.size }];
        }),
    );
    return written.flat().sort(inOrder);
  }

  async #summary(written: Written): Promise<RunSummary | undefined> {
    const { name, at, bytes } = written;
    const known = this.#read.get(name);
    if (known !== undefined && known.at === at && known.bytes === bytes) return known.summary;
    const found = await this.stored(name);
    const isItsOwn = found !== undefined && folderName(found.tenant, found.run_id) === name; // a copy is no run
    const summary = isItsOwn ? found : undefined;
    if (this.#read.size >= mostRead) this.#read.clear();
    this.#read.set(name, { ...written, summary });
    return summary;
  }
}

function placed(summary: RunSummary): { readonly summary: RunSummary; readonly place: ListedPlace } {
  const { tenant, run_id, last_event_at } = summary;
  return { summary, place: { isLive: true, at: Date.parse(last_event_at), name: folderName(tenant, run_id) } };
}

function inOrder(one: ListedPlace, other: ListedPlace): number {
  if (one.isLive !== other.isLive) return one.isLive ? -1 : 1;
  if (one.at !== other.at) return other.at - one.at;
  return one.name < other.name ? 1 : one.name > other.name ? -1 : 0;
}

function cursorOf({ isLive, at, name }: ListedPlace): string {
  return `${isLive ? "live" : "kept"}@${at}@${name}`;
}

/** @throws RuntimeFault `filter_invalid`: it is no page's. */
function placeIn(cursor: string): ListedPlace {
  const [, how, at, name] = /^(live|kept)@(\d{1,16}(?:\.\d{1,16})?)@(.+)$/.exec(cursor) ?? [];
  if (how === undefined || at === undefined || name === undefined)
    throw new RuntimeFault("filter_invalid", `\`after\` is a page's \`next_after\`, not \`${cursor.slice(0, 100)}\`.`);
  return { isLive: how === "live", at: Number(at), name };
}
