import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeFault } from "@postern/core";
import { readWhole } from "../../system/whole-file.ts";
import type { Archive } from "./archive.ts";
import { folderName } from "./folders.ts";
import { summaryIn } from "./reading.ts";
import type { RunPage, RunSummary } from "./runs.ts";

/** The place of a run in the list: open runs first, then the latest; equal times by name. */
interface ListedPlace {
  readonly isLive: boolean;
  /** Of its last event, or when its `run.json` was written: milliseconds. */
  readonly at: number;
  /** Its folder's. */
  readonly name: string;
}

export interface PageRequest {
  readonly isWanted: (summary: RunSummary) => boolean;
  readonly limit: number;
  /** A page's `nextAfter`. */
  readonly after?: string | undefined;
}

/** So many files are read at the same time. */
const atOnce = 64;

/** The list of runs. Open runs come from memory, others from their `run.json`. */
export class RunListing {
  readonly #archive: Pick<Archive, "folder" | "runs">;

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
      const read = await Promise.all(
        some.map((place) => this.#summary(place.name).then((summary) => ({ summary, place }))),
      );
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

  /** The summary in a folder. A run that is not open here has stopped, even if its file says otherwise. */
  async stored(name: string): Promise<RunSummary | undefined> {
    const path = join(this.#archive.folder, name, "run.json");
    const text = await readWhole(path).catch(() => undefined); // an unreadable file is no run
    const summary = text === undefined ? undefined : summaryIn(text);
    if (summary === undefined || this.#archive.runs.get(summary.tenant, summary.run_id) !== undefined) return summary;
    return summary.state === "started" || summary.state === "running" ? { ...summary, state: "stopped" } : summary;
  }

  /** The latest first. */
  async #written(leftOut: ReadonlySet<string>): Promise<readonly ListedPlace[]> {
    const entries = await readdir(this.#archive.folder, { withFileTypes: true });
    const written = await Promise.all(
      entries
        .filter((entry) => entry.isDirectory() && !leftOut.has(entry.name))
        .map(async ({ name }) => {
          const found = await lstat(join(this.#archive.folder, name, "run.json")).catch(() => undefined); // no run
          return found === undefined ? [] : [{ isLive: false, name, at: found.mtimeMs }];
        }),
    );
    return written.flat().sort(inOrder);
  }

  async #summary(name: string): Promise<RunSummary | undefined> {
    const found = await this.stored(name);
    return found !== undefined && folderName(found.tenant, found.run_id) === name ? found : undefined; // a copy is no run
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
  return `${isLive ? "live" : "stored"}@${at}@${name}`;
}

/** @throws RuntimeFault `request_invalid` if it is no cursor of a page */
function placeIn(cursor: string): ListedPlace {
  const [, how, at, name] = /^(live|stored)@(\d{1,16}(?:\.\d{1,16})?)@(.+)$/.exec(cursor) ?? [];
  if (how === undefined || at === undefined || name === undefined)
    throw new RuntimeFault("request_invalid", `\`after\` is a page's \`next_after\`, not \`${cursor.slice(0, 100)}\`.`);
  return { isLive: how === "live", at: Number(at), name };
}
