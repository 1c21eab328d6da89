import { expect } from "vitest";
import type { CallEvent } from "../../packages/postern/src/index.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

/** Counts the final events of each arrival by its id. */
export class Ends {
  readonly #ends = new Map<string, string[]>();
  readonly #left = new Map<string, number>();

  readonly watcher: (event: CallEvent) => void = (event) => {
    if (event.moment === "ended") this.#ends.set(event.call.id, [...(this.#ends.get(event.call.id) ?? []), event.as]);
    if (event.moment === "left") this.#left.set(event.call.id, (this.#left.get(event.call.id) ?? 0) + 1);
  };

  expectOneEach(arrivals: number): void {
    expect(this.#left.size).toBe(arrivals);
    for (const [id, times] of this.#left) {
      expect(times).toBe(1);
      expect(this.#ends.get(id), id).toHaveLength(1);
    }
  }
}

export async function fixtureWithEnds(
  ...args: Parameters<typeof runtimeFixture>
): Promise<{ h: RuntimeFixture; ends: Ends }> {
  const h = await runtimeFixture(...args);
  const ends = new Ends();
  h.runtime.watch(ends.watcher);
  return { h, ends };
}

/** Returns a text nested in this many lists and objects. */
export function nested(depth: number): unknown {
  let value: unknown = "x";
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}
