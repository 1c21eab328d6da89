/**
 * What a tool may borrow. One verb: no list, no dump (SPEC 16.2).
 *
 * Invariant: a value is known to the redactor before anybody can use it, and a lent store ends with its call.
 * Next: lend.ts (the end of a loan), env-secrets.ts (the environment as back end), redactor.ts (what keeps values out of sight).
 */
export interface SecretStore {
  /**
   * @param connector who asks: a server's or a tool's name
   * @throws RuntimeFault `secret_missing` when there is none, `secret_returned` when the loan is over
   */
  get(connector: string, key: string): Promise<Secret>;
}

/** Shows nothing of itself as text, as JSON or in a debugger. */
export interface Secret {
  reveal(): string;
}

/** Exact values in every encoding they are met in (facts: JSON, URL, base64 at three offsets, hex, wrapped lines). */
export interface Redactor {
  /** From now on the value is masked everywhere. Values shorter than 6 characters are refused: masking them would eat ordinary text. */
  learn(value: string): void;
  /** The text with every known value replaced by `[redacted]`; the same string when there is none. */
  redact(text: string): string;
  /** Whether a known value is in there. */
  finds(text: string): boolean;
}
