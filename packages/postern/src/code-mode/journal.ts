import type { ChainSummary, Json, ToolOutcome } from "@postern/core";
import type { Printed } from "@postern/core/sandbox";

/** One call of a script in its trace. */
export interface CallLine {
  readonly place: number;
  readonly tool: string;
  /** First 16 hex digits of the arguments' SHA-256. */
  readonly argumentsDigest: string;
  readonly status: "ok" | "error" | "denied" | "timeout" | "cancelled";
  readonly durationMs: number;
  readonly callId: string;
  /** The line of the source, if the engine knows it. */
  readonly line?: number;
  readonly code?: string;
}

/** The line of the source of each call. */
export type LineOfCall = ChainSummary["lines"][number];

/** A file that is returned with the answer, or may be. */
export interface ScriptFile {
  readonly artifact: string;
  readonly mediaType: string;
  /** Whether the script made it with `artifacts.put`. */
  readonly put: boolean;
}

/** A call of a tool as the script made it. A replay must make the same call. */
export interface MadeCall {
  /** The number of calls of tools that the script had made before. */
  readonly number: number;
  readonly tool: string;
  readonly action?: string;
  /** First 16 hex digits of the arguments' SHA-256. */
  readonly digest: string;
  /** The refusal that the script got. It gets the same one again, whatever is allowed then. */
  readonly refused?: ToolOutcome;
}

/** A result of which the script has only read the beginning, and whose reference it has not used. */
export interface PreviewNote {
  readonly artifact: string;
  readonly tool: string;
  readonly line?: number;
}

/** The used budget of a script beside its calls and its time, which its session counts. */
interface UsedBudget {
  /** Questions to Postern. */
  readonly hostCalls: number;
  /** Bytes of stored artifacts. */
  readonly putBytes: number;
  /** Bytes that were stored again when pieces were joined. */
  readonly joinedBytes: number;
}

export interface JournalState extends UsedBudget {
  readonly lines: readonly CallLine[];
  readonly printed: readonly Printed[];
  readonly files: readonly ScriptFile[];
  readonly last: number;
  readonly previews: readonly PreviewNote[];
  /** Calls of tools before the frozen batch. */
  readonly callsMade: number;
  /** The number of steps in which a timer ran while a call was open (script-timers.ts). */
  readonly timedSteps: number;
  /** All known calls, with those of the frozen batch. */
  readonly made: readonly MadeCall[];
}

/** A position in a journal. Lines and printed text only grow, so their number is enough. */
export interface JournalMark extends Omit<JournalState, "lines" | "printed" | "made"> {
  readonly lineCount: number;
  readonly printedCount: number;
}

const emptyJournal: JournalState = {
  ...{ lines: [], printed: [], files: [], previews: [], made: [], last: -1, callsMade: 0, timedSteps: 0 },
  ...{ hostCalls: 0, putBytes: 0, joinedBytes: 0 },
};

/** What a script has done so far. It is stored with a frozen script; the ledger decides. */
export class Journal {
  readonly #lines = new Map<number, CallLine>();
  readonly #files = new Map<string, ScriptFile>();
  readonly #previews = new Map<string, PreviewNote>();
  readonly #made = new Map<number, MadeCall>();
  /** The lines of calls that have begun and not ended, by place. */
  readonly #underWay = new Map<number, LineOfCall>();
  readonly #printed: Printed[] = [];
  readonly #mostPrinted: number;
  #printedBytes = 0;
  /** The number of the next call of a tool. Other questions do not count, so a replay may ask more or fewer of them. */
  callsMade: number;
  timedSteps: number;
  /** The last place that was asked for, or -1. */
  last: number;
  readonly budget: Budget;

  constructor(mostPrintedBytes: number, state: JournalState = emptyJournal) {
    this.#mostPrinted = mostPrintedBytes;
    for (const line of state.lines) this.#lines.set(line.place, line);
    for (const file of state.files) this.#files.set(file.artifact, file);
    for (const preview of state.previews) this.#previews.set(preview.artifact, preview);
    for (const made of state.made) this.#made.set(made.number, made);
    this.print(state.printed);
    this.last = state.last;
    this.callsMade = state.callsMade;
    this.timedSteps = state.timedSteps;
    this.budget = new Budget(state);
  }

  /** The state of a script that runs from its beginning again: only the calls to compare with are kept. */
  static startAgain({ made }: Pick<JournalState, "made">): JournalState {
    return { ...emptyJournal, made };
  }

  /** All known calls, of this turn and of earlier turns. */
  get made(): ReadonlyMap<number, MadeCall> {
    return this.#made;
  }

  make(made: MadeCall): void {
    this.#made.set(made.number, { ...this.#made.get(made.number), ...made });
  }

  refuse(number: number, refused: ToolOutcome): void {
    const made = this.#made.get(number);
    if (made !== undefined) this.#made.set(number, { ...made, refused });
  }

  get callCount(): number {
    return this.#lines.size;
  }

  /** In the order of the script's calls. */
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

  /** The lines of all its calls, including those that run. */
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

  /** A value that names a result by its reference uses all of it. */
  use(value: Json): void {
    if (this.#previews.size === 0) return;
    const text = JSON.stringify(value);
    for (const artifact of this.#previews.keys()) if (text.includes(artifact)) this.#previews.delete(artifact);
  }

  /** Bounds printed text, whatever the engine does. */
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

  mark(): JournalMark {
    const { last, files, previews, callsMade, timedSteps, budget } = this;
    const counts = { lineCount: this.#lines.size, printedCount: this.#printed.length, ...budget.used };
    return { ...counts, files, last, previews, callsMade, timedSteps };
  }

  /** The state at the mark. */
  freeze({ lineCount, printedCount, ...rest }: JournalMark = this.mark()): JournalState {
    const lines = inOrder([...this.#lines.values()].slice(0, lineCount));
    return { ...rest, lines, printed: this.#printed.slice(0, printedCount), made: [...this.#made.values()] };
  }
}

/** The lines of those calls whose line the engine knows. */
export function linesOfCalls(lines: readonly CallLine[]): readonly LineOfCall[] {
  return lines.flatMap(({ callId, line }) => (line === undefined ? [] : [{ callId, line }]));
}

function inOrder(lines: readonly CallLine[]): readonly CallLine[] {
  return lines.toSorted((one, other) => one.place - other.place);
}

export const mostHostCalls = 1000;
export const mostPutBytes: number = 64 * 1024 * 1024;
const mostBroughtBytes = 8 * 1024 * 1024;
const mostOverdrawn = 1000;
/** After this many batches of only refused calls, the script is stopped. */
const mostRefusedBatches = 3;

/** The budget of a script beside its calls and its time. The used part is stored with the journal. */
class Budget {
  #hostCalls: number;
  #putBytes: number;
  #joinedBytes: number;
  /** Calls after the session's calls were used up. */
  #overdrawn = 0;
  #vainBatches = 0;
  #broughtBytes = 0;

  constructor({ hostCalls, putBytes, joinedBytes }: UsedBudget) {
    this.#hostCalls = hostCalls;
    this.#putBytes = putBytes;
    this.#joinedBytes = joinedBytes;
  }

  get used(): UsedBudget {
    return { hostCalls: this.#hostCalls, putBytes: this.#putBytes, joinedBytes: this.#joinedBytes };
  }

  /** Counts a question to Postern. Returns false when none is left. */
  ask(): boolean {
    this.#hostCalls += 1;
    return this.#hostCalls <= mostHostCalls;
  }

  /** Counts bytes to store. Returns false, and counts nothing, when they exceed the rest. */
  put(bytes: number): boolean {
    if (this.#putBytes + bytes > mostPutBytes) return false;
    this.#putBytes += bytes;
    return true;
  }

  /** Counts the bytes of joined pieces. They are never more than the script has stored. */
  join(bytes: number): boolean {
    if (this.#joinedBytes + bytes > this.#putBytes) return false;
    this.#joinedBytes += bytes;
    return true;
  }

  beginBatch(): void {
    this.#broughtBytes = 0;
  }

  /** Counts bytes that this batch sends into the script in one frame. Returns false when the frame is full. */
  bring(bytes: number): boolean {
    this.#broughtBytes += bytes;
    return this.#broughtBytes <= mostBroughtBytes;
  }

  /** After a batch: whether the script keeps calling without a budget. */
  isIgnored(calls: number, overdrawn: number): boolean {
    this.#overdrawn += overdrawn;
    if (calls > 0) this.#vainBatches = calls === overdrawn ? this.#vainBatches + 1 : 0;
    const isFlood = this.#overdrawn > mostOverdrawn || this.#hostCalls > 2 * mostHostCalls;
    return isFlood || this.#vainBatches > mostRefusedBatches;
  }
}
