import { join } from "node:path";
import { codeOf } from "../../system/error-code.ts";
import { type Extent, LineFile } from "./line-file.ts";

export const lineFiles = ["events.jsonl", "logs/tools.jsonl", "logs/errors.jsonl"] as const;

/** The three files of lines of one run, written together. */
export class RunFiles {
  readonly events: LineFile;
  readonly tools: LineFile;
  readonly errors: LineFile;
  readonly #remake: () => void;

  /**
   * @param remake makes the folder again, when somebody has removed it
   * @param changed told when somebody else has written to a file
   */
  constructor(folder: string, remake: () => void, changed: (path: string) => void) {
    const [events, tools, errors] = lineFiles;
    this.events = new LineFile(join(folder, events), changed);
    this.tools = new LineFile(join(folder, tools), changed);
    this.errors = new LineFile(join(folder, errors), changed);
    this.#remake = remake;
  }

  get isWaiting(): boolean {
    return this.events.isWaiting || this.tools.isWaiting || this.errors.isWaiting;
  }

  async flush(): Promise<void> {
    try {
      await this.#flushAll();
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#remake();
      await this.#flushAll();
    }
  }

  /** Of what is in the files. */
  extents(): Readonly<Record<(typeof lineFiles)[number], Extent>> {
    return {
      "events.jsonl": this.events.extent(),
      "logs/tools.jsonl": this.tools.extent(),
      "logs/errors.jsonl": this.errors.extent(),
    };
  }

  /** Events last: what they tell of a call stands in the other files then, also after a kill. */
  async #flushAll(): Promise<void> {
    await this.tools.flush();
    await this.errors.flush();
    await this.events.flush();
  }
}
