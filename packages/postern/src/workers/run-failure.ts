/** The error of a run on a worker, as `failureOf` reads it. It has no name of its own: the tool's is in the message. */
export class RunFailure extends Error {
  override readonly name = "";
  readonly retryable: boolean;
  readonly unknown: boolean;
  readonly notExecuted: boolean;

  constructor(
    message: string,
    how: { readonly retryable?: boolean; readonly unknown?: boolean; readonly notExecuted?: boolean },
  ) {
    super(message);
    this.retryable = how.retryable === true;
    this.unknown = how.unknown === true;
    this.notExecuted = how.notExecuted === true;
  }
}

export function notRun(why: string): RunFailure {
  return new RunFailure(why, { notExecuted: true });
}
