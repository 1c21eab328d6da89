/**
 * A watcher sees every moment of every call and cannot stop a call.
 * Invariant: a watcher is called after the moment; an error that it throws is logged and changes nothing.
 * Next: stream.ts (one stream, many watchers), hooks.ts (TOOL_START, TOOL_END), progress.ts (TOOL_CALL, TOOL_RESULT).
 */
import type { CallEvent } from "./event.ts";

/** @public */
export type Watcher = (event: CallEvent) => void;
