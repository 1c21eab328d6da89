import { join } from "node:path";
import { codeOf } from "@postern/core/system";
import { LineFile } from "../../system/line-file.ts";
import { errorIn, eventIn, recordIn } from "./reading.ts";
import type { RunEvent } from "./runs.ts";

const lineFiles = ["events.jsonl", "logs/tools.jsonl", "logs/errors.jsonl"] as const;
export type LineFileName = (typeof lineFiles)[number];

export interface RunFilesOptions {
  readonly folder: string;
  /** Makes the folder again. */
  readonly remake: () => void;
  /** Runs if another process has written to a file. */
  readonly changed: (path: string) => void;
  /** Entries of the audit log from here on may be projected again; earlier ones have their lines. */
  readonly from: number;
}

/** The three files of lines of one run. Each has at most one line of an entry, however often that is added. */
export class RunFiles {
  readonly #options: RunFilesOptions;
  readonly #files: Readonly<Record<LineFileName, LineFile>>;
  /** Which entries each file had lines of when it was opened. */
  readonly #written: Readonly<Record<LineFileName, Set<string>>>;

  constructor(options: RunFilesOptions) {
    this.#options = options;
    this.#files = byName(
      (name) => new LineFile(join(options.folder, name), { code: "request_invalid", changed: options.changed }),
    );
    this.#written = byName(() => new Set());
  }

  /** @param each gets every event that is in the file */
  async open(each: (event: RunEvent) => void): Promise<void> {
    await this.#files["events.jsonl"].open((line) => {
      const event = eventIn(line);
      if (event === undefined) return; // another process wrote the line
      each(event);
      this.#note("events.jsonl", event.data["audit_seq"], event.timestamp);
    });
    await this.#files["logs/tools.jsonl"].open((line) => {
      const record = recordIn(line);
      this.#note("logs/tools.jsonl", record?.audit_seq, record?.completed_at);
    });
    await this.#files["logs/errors.jsonl"].open((line) => {
      const error = errorIn(line);
      this.#note("logs/errors.jsonl", error?.audit_seq, error?.timestamp);
    });
  }

  get isWaiting(): boolean {
    return lineFiles.some((name) => this.#files[name].isWaiting);
  }

  get isFull(): boolean {
    return this.#files["events.jsonl"].isFull;
  }

  /** Whether the file has the line of an entry. A folder may hold lines of an older log, so the time counts too. */
  has(name: LineFileName, seq: number, timestamp: string): boolean {
    return this.#written[name].has(keyOf(seq, timestamp));
  }

  add(name: LineFileName, line: object): void {
    this.#files[name].add(JSON.stringify(line));
  }

  async flush(): Promise<void> {
    try {
      await this.#flushAll();
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#options.remake();
      await this.#flushAll();
    }
  }

  /** Events are written last, so after a kill the other files have the lines of every event. */
  async #flushAll(): Promise<void> {
    for (const name of lineFiles.toReversed()) await this.#files[name].flush();
  }

  #note(name: LineFileName, seq: unknown, timestamp: string | undefined): void {
    if (typeof seq === "number" && timestamp !== undefined && seq >= this.#options.from)
      this.#written[name].add(keyOf(seq, timestamp));
  }
}

function byName<T>(make: (name: LineFileName) => T): Readonly<Record<LineFileName, T>> {
  const [events, tools, errors] = lineFiles;
  return { [events]: make(events), [tools]: make(tools), [errors]: make(errors) };
}

function keyOf(seq: number, timestamp: string): string {
  return `${seq} ${timestamp}`;
}
