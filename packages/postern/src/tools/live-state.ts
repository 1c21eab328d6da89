import type { AnyTool, LocalTool } from "./kinds.ts";
import type { ToolBlock } from "./registered.ts";

/** `gone`: it is no longer offered, and is unregistered. */
export type ToolState = ToolBlock | "callable" | "gone";

/** A symbol, so that a copy under another name has the same state. */
const key = Symbol("state");

/** What the owner of a tool that can change says of it to every registry that has the tool. */
export class LiveState {
  readonly #followers = new Set<(state: ToolState) => void>();
  #now: ToolState = "callable";

  get now(): ToolState {
    return this.#now;
  }

  set(state: ToolState): void {
    this.#now = state;
    for (const follower of [...this.#followers]) follower(state);
  }

  /** Returns a function that ends it. */
  follow(follower: (state: ToolState) => void): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}

export function withState(tool: LocalTool, state: LiveState): LocalTool {
  return Object.assign(tool, { [key]: state });
}

/** Returns undefined for a tool that stays as it is. */
export function stateOf(tool: AnyTool): LiveState | undefined {
  return (tool as { readonly [key]?: LiveState })[key]; // only `withState` sets it
}
