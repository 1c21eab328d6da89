import { vi } from "vitest";
import type { Runtime } from "../../src/index.ts";

/** How many holds on artifacts were taken from now on and not given back. */
export function countHolds({ artifacts }: Pick<Runtime, "artifacts">): () => number {
  const [put, pin, unpin] = (["put", "pin", "unpin"] as const).map((name) => vi.spyOn(artifacts, name));
  const times = (spy: typeof put): number => spy?.mock.calls.length ?? 0;
  return () => times(put) + times(pin) - times(unpin);
}
