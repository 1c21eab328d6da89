import type { JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import type { Store } from "../../store/store.ts";
import { approvalOf, callOf, claimOf, decideOf, holdOf, recordOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** A search for words in what a list shows. */
export function searchContract(kit: StoreKit): void {
  const { commit } = kit;
  const texts: readonly JsonObject[] = [
    { customer: "cus_81", note: "Billing, gold plan" },
    { customer: "cus_82", note: 'says "no"\\ \n50%_off', amount: 1249.9 },
    { customer: "Zoë Größe", to: ["ПРИВЕТ", { deep: "שלום" }] },
  ];
  /** A search, and which of the texts it finds. */
  const searches: readonly (readonly [search: string, found: readonly number[]])[] = [
    ["BILLING", [0]],
    ["gold cus_81", [0]],
    ["gold cus_82", []],
    ["customer", [0, 1, 2]],
    ["cus_8", [0, 1]],
    ['"no"\\', [1]],
    ["50%_", [1]],
    ["5__", []],
    ["%", [1]],
    ["1249.9", [1]],
    ["zoë größe", [2]],
    ["ZOË", [2]],
    ["привет", [2]],
    ["שלום", [2]],
    ["SEND_email ann run_1", [0, 1, 2]],
    ["definition", []],
    ["binding", []],
    ["  ", [0, 1, 2]],
  ];

  describe("a search", () => {
    it.each([["pending"], ["decided"]] as const)("finds %s requests by what their rows show", async (state) => {
      const ids: string[] = [];
      for (const given of texts) {
        const record = recordOf(callOf(kit.clock, { arguments: given }), { state: "held", match: `m${ids.length}` });
        const approval = approvalOf(record, { summary: `Pays invoice-${ids.length}x`, reason: "Because" });
        expect(await commit(holdOf(record, approval))).toEqual(wins);
        if (state === "decided") await commit(decideOf(approval, "denied"));
        ids.push(approval.id);
      }
      const found = async (search: string, more: Parameters<Store["approvals"]>[0] = {}): Promise<readonly number[]> =>
        (await kit.store.approvals({ state, search, ...more })).map(({ id }) => ids.indexOf(id));
      for (const [search, expected] of searches) expect((await found(search)).toSorted(), search).toEqual(expected);
      expect(await found("pays INVOICE-1x because")).toEqual([1]);
      const [first = -1, second = -1] = await found("invoice");
      expect(await found("invoice", { limit: 1 })).toEqual([first]);
      expect(await found("invoice", { limit: 1, after: ids[first] ?? "" })).toEqual([second]);
      expect(await found("invoice", { tool: "other" })).toEqual([]);
      expect(await found(ids[1] ?? "")).toEqual([1]);
    });

    it("finds calls by their names and arguments, new to old and in pages", async () => {
      const ids: string[] = [];
      for (const given of texts) {
        const record = recordOf(callOf(kit.clock, { arguments: given }), { fence: kit.store.incarnation });
        expect(await commit(claimOf(record))).toEqual(wins);
        ids.push(record.call.id);
      }
      const found = async (search: string, more: Parameters<Store["calls"]>[0] = {}): Promise<readonly number[]> =>
        (await kit.store.calls({ search, ...more })).map(({ call }) => ids.indexOf(call.id));
      for (const [search, expected] of searches) expect((await found(search)).toSorted(), search).toEqual(expected);
      expect(await found("cus_", { limit: 1 })).toEqual([1]);
      expect(await found("cus_", { limit: 1, before: ids[1] ?? "" })).toEqual([0]);
      expect(await found("cus_", { tool: "other" })).toEqual([]);
    });
  });
}
