import type { Printed } from "./sandbox.ts";

/** One call of a script, as its trace tells it (SPEC 3.7). */
export interface CallLine {
  readonly place: number;
  readonly tool: string;
  /** First 16 hex digits of the arguments' SHA-256. */
  readonly argumentsDigest: string;
  readonly status: "ok" | "error" | "denied" | "timeout" | "cancelled";
  readonly durationMs: number;
  readonly callId: string;
  /** Of the source, where the engine knows it. */
  readonly line?: number;
  readonly code?: string;
}

/** A file that goes back with the answer, or may. */
export interface ScriptFile {
  readonly artifact: string;
  readonly mediaType: string;
  /** The script put it there itself. */
  readonly put: boolean;
}

export interface JournalState {
  readonly lines: readonly CallLine[];
  readonly printed: readonly Printed[];
  readonly files: readonly ScriptFile[];
  readonly last: number;
}

/** What a script did so far. It travels with a frozen script; the ledger is what counts. */
export class Journal {
  readonly #lines = new Map<number, CallLine>();
  readonly #files = new Map<string, ScriptFile>();
  readonly #printed: Printed[] = [];
  readonly #mostPrinted: number;
  #printedBytes = 0;
  /** The last place that was asked for; none: -1. */
  last = -1;

  constructor(mostPrintedBytes: number, state?: JournalState) {
    this.#mostPrinted = mostPrintedBytes;
    for (const line of state?.lines ?? []) this.#lines.set(line.place, line);
    for (const file of state?.files ?? []) this.#files.set(file.artifact, file);
    this.print(state?.printed);
    this.last = state?.last ?? -1;
  }

  get callCount(): number {
    return this.#lines.size;
  }

  /** In the order the script made them. */
  get lines(): readonly CallLine[] {
    return [...this.#lines.values()].sort((one, other) => one.place - other.place);
  }

  get files(): readonly ScriptFile[] {
    return [...this.#files.values()];
  }

  note(line: CallLine): void {
    this.#lines.set(line.place, line);
  }

  file(file: ScriptFile): void {
    if (file.put || !this.#files.has(file.artifact)) this.#files.set(file.artifact, file);
  }

  /** Engines cap what is printed too; this holds whatever they do. */
  print(printed: readonly Printed[] = []): void {
    for (const { stream, text } of printed) {
      const room = this.#mostPrinted - this.#printedBytes;
      if (room <= 0) return;
      const kept = text.length > room ? `${text.slice(0, room).toWellFormed()}…` : text;
      this.#printedBytes += kept.length;
      this.#printed.push({ stream, text: kept });
    }
  }

  get logs(): string {
    return this.#printed
      .map(({ text }) => (text.endsWith("\n") ? text : `${text}\n`))
      .join("")
      .trimEnd();
  }

  freeze(): JournalState {
    return { lines: this.lines, printed: [...this.#printed], files: this.files, last: this.last };
  }
}
