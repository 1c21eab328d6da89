/** One HTTP request whose caller is known and whose body was read, and the means to answer it. */
export interface HttpExchange {
  readonly method: string;
  /** Empty if there is none. */
  readonly body: Uint8Array;
  /** @param name in lower case */
  header(name: string): string | undefined;
  /** Calls back when the connection ends before the answer is whole. */
  onGone(then: () => void): void;
  /** The whole answer in one write. */
  answer(status: number, headers: Readonly<Record<string, string>>, body?: string): void;
  /** Begins an answer that is written in pieces. */
  begin(headers: Readonly<Record<string, string>>): void;
  write(text: string): void;
  end(): void;
}
