import { describe, expect, it } from "vitest";
import { claimOf } from "../records.ts";
import type { StoreKit } from "./kit.ts";

/** What metrics read, for a store that has it. */
export function measuresContract(kit: StoreKit): void {
  const { commit, attempted } = kit;

  describe("measures", () => {
    it("counts writes that lose", async () => {
      if (kit.store.measures === undefined) return;
      const record = await attempted();
      expect(kit.store.measures.conflicts).toBe(0);
      expect(await commit(claimOf(record))).toMatchObject({ won: false });
      expect(kit.store.measures.conflicts).toBe(1);
    });
  });
}
