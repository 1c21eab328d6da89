import type { Actor } from "../../src/core/actor.ts";

/** Somebody who signed in. */
export function actor(by: string): Actor {
  return { by, via: `session:${by}` };
}
