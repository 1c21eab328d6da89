import { vi } from "vitest";
import type { Runtime } from "../../packages/postern/src/index.ts";

/** Counts the holds on artifacts that are taken from now on and not released. */
export function countHolds({ artifacts }: Pick<Runtime, "artifacts">): () => number {
  const [put, pin, unpin] = (["put", "pin", "unpin"] as const).map((name) => vi.spyOn(artifacts, name));
  const times = (spy: typeof put): number => spy?.mock.calls.length ?? 0;
  return () => times(put) + times(pin) - times(unpin);
}
