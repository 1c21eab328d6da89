import type { Json } from "../calls/json.ts";
import type { ContentBlock } from "../calls/outcome.ts";

/** What a tool answered, in one shape, before it is redacted and cut. */
export interface RawResult {
  readonly content: readonly ContentBlock[];
  readonly structured?: Json;
  /** The one block of content is the JSON text of `structured`, as `JSON.stringify` writes it. */
  readonly spelled?: true;
  readonly isError: boolean;
  /** With `isError`: the same call may be tried again (D26). */
  readonly retryable?: boolean;
  /** The tool ran, and what it answered is no answer at all: a cycle, a function. */
  readonly unusable?: true;
}
