/** The contract of every store. `open` returns an empty one. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OpenStore } from "../store/open-store.ts";
import { note } from "./records.ts";
import { approvalContract } from "./store/approvals.ts";
import { artifactReferenceContract } from "./store/artifacts.ts";
import { claimContract } from "./store/claims.ts";
import { documentContract } from "./store/documents.ts";
import { equalCallsContract } from "./store/equal-calls.ts";
import { erasingContract } from "./store/erasing.ts";
import { StoreKit } from "./store/kit.ts";
import { lookupContract } from "./store/lookup.ts";
import { measuresContract } from "./store/measures.ts";
import { readingContract } from "./store/reading.ts";
import { searchContract } from "./store/search.ts";
import { statisticsContract } from "./store/statistics.ts";
import { waitingContract } from "./store/waiting.ts";

export function storeContract(name: string, open: OpenStore): void {
  describe(`${name}: the contract of a store`, () => {
    const kit = new StoreKit(open);
    beforeEach(() => kit.begin());
    afterEach(async () => {
      await kit.store[Symbol.asyncDispose]();
    });

    claimContract(kit);
    approvalContract(kit);
    readingContract(kit);
    waitingContract(kit);
    searchContract(kit);
    statisticsContract(kit);
    documentContract(kit);
    lookupContract(kit);
    equalCallsContract(kit);
    artifactReferenceContract(kit);
    measuresContract(kit);
    erasingContract(kit);

    it("takes nothing more when it is closed", async () => {
      const { store } = kit;
      expect(store.broken).toBeUndefined();
      await store[Symbol.asyncDispose]();
      const late = Promise.resolve(store.commit(note("late"), "queued"));
      await expect(late).rejects.toMatchObject({ code: "runtime_closed", message: "The store is closed." });
      expect(store.broken).toMatchObject({ code: "runtime_closed", message: "The store is closed." });
      await store[Symbol.asyncDispose]();
    });
  });
}
