import type { Actor } from "../../packages/core/src/actor.ts";

/** A person who signed in. */
export function actor(by: string): Actor {
  return { by, via: `session:${by}` };
}
