/**
 * What a tool may borrow. One verb: no list, no dump.
 *
 * Invariant: a value is known to the redactor before it can be used, and a lent store ends with its call.
 * Next: backend.ts (where values come from: environment, sealed file, command), lend.ts (the end of a loan), redactor.ts
 * (what keeps values out of sight), second-layer.ts (what merely looks like one).
 */
export interface SecretStore {
  /**
   * @param connector who asks: a server's or a tool's name
   * @throws RuntimeFault `secret_missing` when there is none, `secret_returned` when the loan is over; that of its back end
   * when it fails. None holds a value
   */
  get(connector: string, key: string): Promise<Secret>;
}

/** Shows nothing of itself as text, as JSON or in a debugger. */
export interface Secret {
  reveal(): string;
}

/**
 * What becomes of text that merely looks like a secret. `mark`: it is recorded, and masked where it is written beside
 * the result (log, audit, archive). `mask`: in the result too. `off`: nothing.
 *
 * @public
 */
export type PatternMode = "off" | "mark" | "mask";

export const patternModes: readonly PatternMode[] = ["off", "mark", "mask"];

/** Exact values in every encoding they are met in (facts: JSON, URL, base64 at three offsets, hex, wrapped lines). */
export interface Redactor {
  /** From now on the value is masked everywhere. Values shorter than 6 characters are refused: masking them would eat ordinary text. */
  learn(value: string): void;
  /** The text with every known value replaced by `[redacted]`; the same string when there is none. */
  redact(text: string): string;
  /** Whether a known value is in there. */
  finds(text: string): boolean;
  /** No known value is longer, in any encoding. Without it, a text must be searched as a whole, however long. */
  readonly reach?: number | undefined;
}
