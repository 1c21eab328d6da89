import { expect, it } from "vitest";
import { guards, race } from "./race.ts";

it.each(guards)(
  "beside a process that swaps links, guarded by %s, nothing outside is read, listed or changed",
  async (guard) => {
    for (const [operation, swap] of [
      ["read", "folder"],
      ["read", "file"],
      ["write", "folder"],
      ["grep", "folder"],
    ] as const) {
      const result = await race({ operation, swap, guard, seconds: 0.25 });
      expect(result).toMatchObject({ escapes: 0, leakedDescriptors: 0 });
      expect(result.tries).toBeGreaterThan(2);
      expect(result.swapsPerSecond).toBeGreaterThan(100);
    }
  },
);
