import { messageOf } from "@postern/core";
import { CallCounts } from "./call-counts.ts";
import type { Metrics, MetricsOptions, Stored } from "./metrics.ts";
import { ProcessMeasures } from "./process-measures.ts";

/** So long an answer of the store is used again: several scrapers cost as much as one. */
const storedForMs = 5_000;

export class OpenMetrics implements Metrics, Disposable {
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #options: MetricsOptions;
  readonly #calls: CallCounts;
  readonly #process = new ProcessMeasures();
  readonly #watching: Disposable;
  #stored: { readonly at: number; readonly read: Promise<Stored | undefined> } | undefined;
  #isReadable = true;

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#calls = new CallCounts(options.hasTool);
    this.#watching = options.watch(this.#calls.see);
  }

  async text(): Promise<string> {
    const { render } = await import("./render.ts"); // prom-client is loaded by the first scrape, not by each start
    const { clock, store, logSize, servers } = this.#options;
    const stored = await this.#storedNow();
    return render({ calls: this.#calls, process: this.#process, now: clock.now(), store, logSize, servers, stored });
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
    this.#process[Symbol.dispose]();
  }

  #storedNow(): Promise<Stored | undefined> {
    const at = this.#options.clock.monotonic();
    if (this.#stored === undefined || at - this.#stored.at >= storedForMs) this.#stored = { at, read: this.#read() };
    return this.#stored.read;
  }

  /** A store that cannot be read must not hide the other metrics. Logs the first failure of a row. */
  async #read(): Promise<Stored | undefined> {
    const { store, artifactBytes, log } = this.#options;
    try {
      const [counts, waiting, bytes, backup] = await Promise.all([
        store.counts({}),
        store.groups({ by: ["risk"] }),
        store.measures?.bytes(),
        store.documents.get("backup", "last"),
      ]);
      const artifacts = artifactBytes();
      this.#isReadable = true;
      return {
        ...{ counts, waiting },
        bytes: { ...bytes, ...(artifacts !== undefined && { artifacts }) },
        backupAt: backupTimeIn(backup?.body),
      };
    } catch (error) {
      if (this.#isReadable) log(`The metrics of the store are missing: ${messageOf(error)}`);
      this.#isReadable = false;
      return undefined;
    }
  }
}

/** Of the document of runtime/services/storage.ts: wall clock, milliseconds. */
function backupTimeIn(body: unknown): number | undefined {
  const { at }: { readonly at?: unknown } = Object(body);
  return typeof at === "number" ? at : undefined;
}
