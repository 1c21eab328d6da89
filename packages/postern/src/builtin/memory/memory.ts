/**
 * What agents may remember: `recall_memory` and `write_memory` over a provider.
 *
 * Invariant: content reaches the provider only in the mode `external` or by a person's decision; until then it is a line in
 * its run's archive. A memory belongs to a scope of one tenant. In the scopes `agent` and `user`, no other agent or user
 * recalls it.
 * Next: memory-tools.ts (the two tools), candidates.ts (the lines), candidate-service.ts (decisions),
 * embedded-memory.ts and server-memory.ts (two providers), memory-config.ts (the section of a configuration).
 */
import type { Suspended, ToolContext } from "../../tools/tool.ts";

/** @public */
export interface Memory {
  readonly id: string;
  readonly content: string;
  readonly scope: string;
  readonly tags: readonly string[];
  /** When it was written: wall clock, milliseconds. */
  readonly at?: number;
}

/**
 * Stores memories. It gets only what the agent wrote; a `MemoryFor` also gets the principal.
 *
 * A method may return what `suspend()` made: then the call waits for that approval and runs again.
 *
 * @public
 */
export interface MemoryProvider {
  /** The best first, at most `limit`. */
  recall(query: string, scope: string, limit: number): Promise<readonly Memory[] | Suspended>;
  /** Resolves when it is stored. */
  write(content: string, scope: string, tags: readonly string[]): Promise<WrittenMemory | Suspended>;
}

/** @public */
export interface WrittenMemory {
  /** The id that the provider gave, if any. */
  readonly id?: string;
}

/**
 * What a provider gets of a call: its principal, and a way to call other tools through the gates.
 *
 * @public
 */
export type MemoryCall = Pick<ToolContext, "principal" | "signal" | "call">;

/**
 * Makes the provider for one call, to separate the memories of several principals.
 *
 * @public
 */
export type MemoryFor = (call: MemoryCall) => MemoryProvider;

/**
 * What `write_memory` does: nothing, a line in the run's archive that a person decides on, or a write to the provider.
 *
 * @public
 */
export type WriteMode = "disabled" | "candidate" | "external";

export const writeModes: readonly WriteMode[] = ["disabled", "candidate", "external"];

export function providerFor(provider: MemoryProvider | MemoryFor, call: MemoryCall): MemoryProvider {
  return typeof provider === "function" ? provider(call) : provider;
}
