/**
 * What agents may remember: `recall_memory` and `write_memory` over a contract that somebody else keeps (SPEC 15.3).
 *
 * Invariant: what an agent wants remembered reaches the provider only in the mode `external`, or by a person's word;
 * until then it is a line in its run's archive. A memory belongs to its scope's shelf: no tenant, and in the scopes
 * `agent` and `user` nobody else, ever recalls it.
 * Next: memory-tools.ts (the two tools), candidates.ts (the lines), candidate-service.ts (a person's word),
 * embedded-memory.ts and server-memory.ts (two providers), memory-config.ts (the section of a configuration).
 */
import type { Suspended, ToolContext } from "../../tools/tool.ts";

/** @public */
export interface Memory {
  readonly id: string;
  readonly content: string;
  readonly scope: string;
  readonly tags: readonly string[];
  /** Wall clock of its writing, milliseconds. */
  readonly at?: number;
}

/**
 * The external contract. It gets what the agent said and nothing else; whose memory it is, it learns as `MemoryFor`.
 *
 * A method may answer what `suspend()` made: the call then waits for that approval and is run again.
 *
 * @public
 */
export interface MemoryProvider {
  /** The best first, at most `limit`. */
  recall(query: string, scope: string, limit: number): Promise<readonly Memory[] | Suspended>;
  /** Resolves when it is kept. */
  write(content: string, scope: string, tags: readonly string[]): Promise<WrittenMemory | Suspended>;
}

/** @public */
export interface WrittenMemory {
  /** How the provider names it, when it does. */
  readonly id?: string;
}

/**
 * What a provider may know of the call it serves: whose memory it is, and a way to other tools, through the gates.
 *
 * @public
 */
export type MemoryCall = Pick<ToolContext, "principal" | "signal" | "call">;

/**
 * Makes the provider for one call: for those that keep the memories of several principals apart.
 *
 * @public
 */
export type MemoryFor = (call: MemoryCall) => MemoryProvider;

/**
 * What `write_memory` does: nothing, a line in the run's archive for a person to decide on, or a write to the provider.
 *
 * @public
 */
export type WriteMode = "disabled" | "candidate" | "external";

export const writeModes: readonly WriteMode[] = ["disabled", "candidate", "external"];

export function providerFor(provider: MemoryProvider | MemoryFor, call: MemoryCall): MemoryProvider {
  return typeof provider === "function" ? provider(call) : provider;
}
