/**
 * The secrets that a tool may borrow. It has one method: no list, no dump.
 * Invariant: a value is known to the redactor before it can be used, and a lent store ends with its call.
 * Next: backend.ts (sources: environment, sealed file, command), lend.ts (the end of a loan), redactor.ts (masks
 * values), second-layer.ts (finds text that looks like a secret).
 */
export interface SecretStore {
  /**
   * @param connector the name of the server or tool that asks
   * @throws RuntimeFault `secret_missing` when there is none, `internal` after the loan, and the fault of a
   * source that fails. No message contains the value
   */
  get(connector: string, key: string): Promise<Secret>;
}

/** Shows nothing as text, as JSON or in a debugger. */
export interface Secret {
  reveal(): string;
}

/**
 * What to do with text that looks like a secret. `mark`: it is recorded, and masked where it is written beside the
 * result (log, audit, archive). `mask`: in the result too. `off`: nothing.
 *
 * @public
 */
export type PatternMode = "off" | "mark" | "mask";

export const patternModes: readonly PatternMode[] = ["off", "mark", "mask"];

/** A piece of text, from `start` up to, not including, `end`. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Finds exact values in the usual encodings (JSON, URL, base64 at three offsets, hex, wrapped lines). */
export interface Redactor {
  /** From now on the value is masked everywhere. Values shorter than 6 characters are refused, because masking them would mask ordinary text. */
  learn(value: string): void;
  /** The text with every known value replaced by `[redacted]`; the same string when there are none. */
  redact(text: string): string;
  /** Whether the text contains a known value. */
  finds(text: string): boolean;
  /** Where known values are, in order and not overlapping. A redactor without it masks no value that is split over two texts. */
  places?(text: string): readonly TextSpan[];
  /** The greatest length of a known value in any encoding. Without it, a text must be searched as a whole. */
  readonly reach?: number | undefined;
  /** How many values are known. It only grows. Without it, a text that was searched is searched again each time. */
  readonly learned?: number | undefined;
}
