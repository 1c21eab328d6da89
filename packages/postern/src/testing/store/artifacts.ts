import type { ApprovalRecord, CallRecord, StoreWrite } from "@postern/core";
import { describe, expect, it } from "vitest";
import { callOf, claimOf, decideOf, hourMs, outcomeOf, recordOf, settleOf } from "../records.ts";
import type { StoreKit } from "./kit.ts";

const sent = "a".repeat(64);
const kept = "b".repeat(64);
const other = "c".repeat(64);

/** The artifacts that the rows need. */
export function artifactReferenceContract(kit: StoreKit): void {
  const { commit, held } = kit;
  const needed = async (): Promise<readonly string[]> => {
    const found = await kit.store.needed([sent, kept, other]);
    return [sent, kept, other].filter((digest) => found.has(digest));
  };
  const withReference = () => callOf(kit.clock, { arguments: { file: { $artifact: sent } } });

  /** Writes a call that was sent with one artifact and answered with another. */
  const answered = async (
    more: Partial<CallRecord>,
    state: "ok" | "failed" | "unknown" = "ok",
  ): Promise<CallRecord> => {
    const call = withReference();
    const record = recordOf(call, { fence: kit.store.incarnation, ...more });
    await commit(claimOf(record));
    const { retryable = false } = more;
    await commit(settleOf(record, state, { outcome: { ...outcomeOf(call), artifact: kept }, retryable }));
    return record;
  };

  describe("artifacts that rows need", () => {
    it("are the arguments of a call that may still run", async () => {
      const call = withReference();
      await commit(claimOf(recordOf(call, { fence: kit.store.incarnation })));
      expect(await needed()).toEqual([sent]);
    });

    it("are the answer of a call that is replayed: one with a key, or an approved one", async () => {
      await answered({ key: "mine" });
      expect(await needed()).toEqual([sent, kept]);
    });

    it("are seen while they are only queued", async () => {
      const record = recordOf(withReference(), { fence: kit.store.incarnation, key: "mine" });
      const claimed = kit.store.commit(claimOf(record), "queued");
      expect(await needed()).toEqual([sent]);
      await claimed;
    });

    it("are not those of a finished plain call, which is never replayed", async () => {
      await answered({});
      expect(await needed()).toEqual([]);
    });

    it("are not those of a failure that runs again when it is sent again", async () => {
      await answered({ key: "mine", retryable: true }, "failed");
      expect(await needed()).toEqual([]);
    });

    it("are the arguments of an unknown call, until it is settled as repeatable", async () => {
      await answered({}, "unknown");
      expect(await needed()).toEqual([sent, kept]);
    });

    it("are those of an open request, until it expires", async () => {
      const call = withReference();
      await held({ call, key: call.id });
      expect(await needed()).toEqual([sent]);
      await kit.clock.advance(hourMs);
      expect(await needed()).toEqual([]);
    });

    it("are those of an approved edit, until it expires", async () => {
      const { approval } = await held();
      const edited = { ...approval, arguments: { file: { $artifact: other } } };
      const decided = decideOf(edited, "approved");
      await commit(decided);
      expect(await needed()).toEqual([other]);
      await kit.clock.advance(hourMs);
      expect(await needed()).toEqual([]);
    });

    it("are those of an edit that still needs votes, until it is denied or expires", async () => {
      const [open, refused] = [await held(), await held()];
      const waits = async (one: typeof open, file: string): Promise<ApprovalRecord> => {
        const edited = { ...one.approval, arguments: { file: { $artifact: file } }, revision: 1 };
        await commit({ ...decideOf(edited, "pending"), expectedRevision: 0 } as StoreWrite);
        return edited;
      };
      await waits(open, other);
      const edited = await waits(refused, kept);
      expect(await needed()).toEqual([kept, other]);
      await commit(decideOf(edited, "denied", outcomeOf(refused.record.call, "denied")));
      expect(await needed()).toEqual([other]);
      await kit.clock.advance(hourMs);
      expect(await needed()).toEqual([]);
    });

    it("include files and references deep inside an answer", async () => {
      const call = callOf(kit.clock);
      const record = recordOf(call, { fence: kit.store.incarnation, key: "mine" });
      await commit(claimOf(record));
      const files = [{ path: "/workspace/media/draw_0.png", mediaType: "image/png", artifact: kept }];
      const structured = { deep: [{ $artifact: other }] };
      await commit(settleOf(record, "ok", { outcome: { ...outcomeOf(call), files, structured } }));
      expect(await needed()).toEqual([kept, other]);
    });

    it("are not what a text only looks like", async () => {
      const call = callOf(kit.clock, { arguments: { text: `{"$artifact":"${sent}"}` } });
      const record = recordOf(call, { fence: kit.store.incarnation, key: "mine" });
      await commit(claimOf(record));
      await commit(settleOf(record, "ok", { outcome: outcomeOf(call, "ok", `"artifact":"${kept}"`) }));
      expect(await needed()).toEqual([]);
    });
  });
}
