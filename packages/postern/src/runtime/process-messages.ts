import type { Clock } from "@postern/core";
import { ProcessMessages } from "../store/process-messages.ts";
import type { Store } from "../store/store.ts";
import type { Runtime } from "./api/api.ts";

const ofRuntimes = new WeakMap<Runtime, ProcessMessages>();

interface MessageParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  readonly closing: AsyncDisposableStack;
}

/** Lets a runtime on a shared store talk to the others. */
export function openProcessMessages(runtime: Runtime, { store, clock, log, closing }: MessageParts): void {
  if (store.documents.follow === undefined) return;
  ofRuntimes.set(runtime, closing.use(new ProcessMessages({ store, clock, log })));
}

/** Undefined if its store has one process. */
export function processMessagesOf(runtime: Runtime): ProcessMessages | undefined {
  return ofRuntimes.get(runtime);
}
