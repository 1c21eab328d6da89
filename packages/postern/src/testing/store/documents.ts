import type { JsonObject, StoreWrite } from "@postern/core";
import { describe, expect, it } from "vitest";
import { all, eventOf } from "../records.ts";
import { type StoreKit, wins } from "./kit.ts";

/** Documents under a kind and an id, written by compare-and-swap. */
export function documentContract(kit: StoreKit): void {
  const { commit } = kit;

  describe("documents", () => {
    const put = (id: string, expectedVersion: number, body: JsonObject = { id }): StoreWrite => ({
      write: "document",
      kind: "token",
      id,
      body,
      expectedVersion,
      event: eventOf("put"),
    });

    it("puts a document only over the version that was read, and returns the present one to the loser", async () => {
      expect(await kit.store.documents.get("token", "a")).toBeUndefined();
      expect(await commit(put("a", 1))).toEqual({ won: false, version: 0 });
      const answers = await Promise.all(Array.from({ length: 10 }, () => kit.store.commit(put("a", 0), "synced")));
      expect(answers.filter(({ won }) => won)).toHaveLength(1);
      expect(answers.at(-1)).toEqual({ won: false, version: 1 });
      expect(await commit(put("a", 1, { b: [1] }))).toEqual(wins);
      expect(await kit.store.documents.get("token", "a")).toEqual({ version: 2, body: { b: [1] } });
    });

    it("lists ids of one kind by prefix in order, whatever characters they have", async () => {
      const odd = ["b", "a", "a/1", "a/2", "a%", "A", "a_", "a\0b", "a\0c", "😀", "ｚ", "", "constructor"];
      for (const id of odd) await commit(put(id, 0));
      await commit({ write: "document", kind: "toke", id: "na", body: null, expectedVersion: 0 });
      expect(await kit.store.documents.list("token", "")).toEqual([...odd].sort());
      expect(await kit.store.documents.list("token", "a/")).toEqual(["a/1", "a/2"]);
      expect(await kit.store.documents.list("token", "a%")).toEqual(["a%"]);
      expect(await kit.store.documents.list("token", "a\0b")).toEqual(["a\0b"]);
      expect(await kit.store.documents.list("token", "no")).toEqual([]);
      expect(await kit.store.documents.get("toke", "na")).toEqual({ version: 1, body: null });
    });

    it("lists no deleted document, and continues its version when it is put again", async () => {
      for (const id of ["a", "b", "c"]) await commit(put(id, 0));
      await commit({ write: "document", kind: "token", id: "b", body: null, expectedVersion: 1 });
      expect(await kit.store.documents.list("token", "")).toEqual(["a", "c"]);
      expect(await kit.store.documents.get("token", "b")).toEqual({ version: 2, body: null });
      expect(await commit(put("b", 0))).toEqual({ won: false, version: 2 });
      expect(await commit(put("b", 2))).toEqual(wins);
      expect(await kit.store.documents.list("token", "")).toEqual(["a", "b", "c"]);
    });

    it("keeps a document without an event out of the log", async () => {
      await commit({
        write: "document",
        kind: "checkpoint",
        id: "1",
        body: "note",
        expectedVersion: 0,
      });
      expect(await all(kit.store.events({ after: -1 }))).toEqual([]);
    });
  });
}
