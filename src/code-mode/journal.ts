import type { Json } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { ChainSummary } from "../core/scripts.ts";
import type { Printed } from "../engines/sandbox.ts";
import { Budget, type Spent } from "./budget.ts";

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

/** Which line of the source made which call. */
export type LineOfCall = ChainSummary["lines"][number];

/** A file that goes back with the answer, or may. */
export interface ScriptFile {
  readonly artifact: string;
  readonly mediaType: string;
  /** The script put it there itself. */
  readonly put: boolean;
}

/** A call of a tool as the script made it: what a replay of it is held against. */
export interface MadeCall {
  /** How many calls of tools the script had made before. */
  readonly number: number;
  readonly tool: string;
  readonly action?: string;
  /** First 16 hex digits of the arguments' SHA-256. */
  readonly digest: string;
  /** It was refused, and the script has gone on from there: whatever may be allowed by now, it is told the same again. */
  readonly told?: ToolOutcome;
}

export interface JournalState extends Spent {
  readonly lines: readonly CallLine[];
  readonly printed: readonly Printed[];
  readonly files: readonly ScriptFile[];
  readonly last: number;
  /** Absent in what an earlier Postern put away. */
  readonly previews?: readonly PreviewNote[];
  /** Calls of tools before the frozen batch. Absent in what an earlier Postern put away: its calls go by their places. */
  readonly callsMade?: number;
  /** All that is known of them, the frozen batch's too. */
  readonly made?: readonly MadeCall[];
}

/** A result whose text was only its beginning, and that the script has not asked for or handed on since. */
export interface PreviewNote {
  readonly artifact: string;
  readonly tool: string;
  readonly line?: number;
}

/** Where a journal stood. */
export interface JournalMark extends Omit<JournalState, "lines" | "printed" | "made"> {
  readonly lineCount: number;
  readonly printedCount: number;
}

/** What a script did so far. It travels with a frozen script; the ledger is what counts. */
export class Journal {
  readonly #lines = new Map<number, CallLine>();
  readonly #files = new Map<string, ScriptFile>();
  readonly #previews = new Map<string, PreviewNote>();
  readonly #made = new Map<number, MadeCall>();
  /** By place: which line made it, of calls that have begun and not ended. */
  readonly #underWay = new Map<number, LineOfCall>();
  readonly #printed: Printed[] = [];
  readonly #mostPrinted: number;
  #printedBytes = 0;
  /** How many calls of tools are numbered. Undefined: they go by their places. */
  callsMade: number | undefined;
  /** The last place that was asked for; none: -1. */
  last = -1;
  readonly budget: Budget;

  constructor(mostPrintedBytes: number, state?: JournalState) {
    this.#mostPrinted = mostPrintedBytes;
    for (const line of state?.lines ?? []) this.#lines.set(line.place, line);
    for (const file of state?.files ?? []) this.#files.set(file.artifact, file);
    for (const preview of state?.previews ?? []) this.#previews.set(preview.artifact, preview);
    for (const made of state?.made ?? []) this.#made.set(made.number, made);
    this.print(state?.printed);
    this.last = state?.last ?? -1;
    this.callsMade = state === undefined ? 0 : state.callsMade;
    this.budget = new Budget(state);
  }

  /** Of a script that is run from its beginning again: what it made is held against it, and all else begins anew. */
  static again({ made = [], callsMade }: Pick<JournalState, "made" | "callsMade">): JournalState {
    return { lines: [], printed: [], files: [], last: -1, made, ...(callsMade !== undefined && { callsMade: 0 }) };
  }

  /**
   * The number of a call of a tool, by which its key is made: what else a script asks for does not count, so that a
   * replay may ask for more or less of that.
   */
  numberOf(place: number): number {
    if (this.callsMade === undefined) return place;
    this.callsMade += 1;
    return this.callsMade - 1;
  }

  /** How many numbers are given. */
  get numbered(): number {
    return this.callsMade ?? this.last + 1;
  }

  /** All that is known of what it made, in this turn and in earlier ones. */
  get made(): ReadonlyMap<number, MadeCall> {
    return this.#made;
  }

  make(made: MadeCall): void {
    this.#made.set(made.number, { ...this.#made.get(made.number), ...made });
  }

  /** The script goes on from what its call ended with. */
  tell(number: number, told: ToolOutcome): void {
    const made = this.#made.get(number);
    if (made !== undefined) this.#made.set(number, { ...made, told });
  }

  get callCount(): number {
    return this.#lines.size;
  }

  /** In the order the script made them. */
  get lines(): readonly CallLine[] {
    return inOrder([...this.#lines.values()]);
  }

  get files(): readonly ScriptFile[] {
    return [...this.#files.values()];
  }

  begin(place: number, begun: LineOfCall): void {
    this.#underWay.set(place, begun);
  }

  note(line: CallLine): void {
    this.#underWay.delete(line.place);
    this.#lines.set(line.place, line);
  }

  /** Of all its calls, those under way among them. */
  get linesOfCalls(): readonly LineOfCall[] {
    return [...linesOfCalls([...this.#lines.values()]), ...this.#underWay.values()];
  }

  file(file: ScriptFile): void {
    if (file.put || !this.#files.has(file.artifact)) this.#files.set(file.artifact, file);
  }

  get previews(): readonly PreviewNote[] {
    return [...this.#previews.values()];
  }

  preview(preview: PreviewNote): void {
    this.#previews.set(preview.artifact, preview);
  }

  /** What names a result by its reference has all of it. */
  use(given: Json): void {
    if (this.#previews.size === 0) return;
    const text = JSON.stringify(given);
    for (const artifact of this.#previews.keys()) if (text.includes(artifact)) this.#previews.delete(artifact);
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

  /** For a later `freeze`: lines and what was printed only grow, so that none of them is copied while a script goes on. */
  mark(): JournalMark {
    const { last, files, previews, budget } = this;
    const counts = { lineCount: this.#lines.size, printedCount: this.#printed.length, ...budget.spent };
    return { ...counts, files, last, previews, ...(this.callsMade !== undefined && { callsMade: this.callsMade }) };
  }

  /** As it was at the mark. */
  freeze({ lineCount, printedCount, ...rest }: JournalMark): JournalState {
    const lines = inOrder([...this.#lines.values()].slice(0, lineCount));
    return { ...rest, lines, printed: this.#printed.slice(0, printedCount), made: [...this.#made.values()] };
  }
}

/** Of those whose line the engine knows. */
export function linesOfCalls(lines: readonly CallLine[]): readonly LineOfCall[] {
  return lines.flatMap(({ callId, line }) => (line === undefined ? [] : [{ callId, line }]));
}

function inOrder(lines: readonly CallLine[]): readonly CallLine[] {
  return lines.toSorted((one, other) => one.place - other.place);
}
