/**
 * Who looks on: every moment of every call, none of which a watcher can stop.
 *
 * Invariant: a watcher is called after the moment; what it throws is logged and forgotten.
 * Next: stream.ts (one stream, many watchers), hooks.ts (TOOL_START, TOOL_END), progress.ts (TOOL_CALL, TOOL_RESULT).
 */
import type { CallEvent } from "./event.ts";

/** @public */
export type Watcher = (event: CallEvent) => void;
