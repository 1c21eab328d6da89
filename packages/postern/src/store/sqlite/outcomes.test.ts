import type { ToolOutcome } from "@postern/core";
import { describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { callOf, claimOf, outcomeOf, recordOf, settleOf } from "../../testing/records.ts";

const { openAt } = sqliteFiles();
type Always = "status" | "callId" | "content" | "text";
type May = Exclude<keyof ToolOutcome, Always>;

/** One of each that an outcome may have: the compiler asks for one that is new. */
const fields: { readonly [Name in May]-?: NonNullable<ToolOutcome[Name]> } = {
  structured: { sum: 3 },
  meta: { source: "cache" },
  artifact: "a".repeat(64),
  cut: { shownBytes: 9, totalBytes: 20, continuesAt: 9 },
  files: [{ path: "a.png", mediaType: "image/png", artifact: "b".repeat(64) }],
  summary: "3 rows",
  preview: { summary: "nothing was done", supported: true },
  openWorld: true,
  marks: [{ guardrail: "injection", why: "it gives orders" }],
  notes: ["A person (grace) approved this call. Reason: it is late."],
  refusal: { status: "error", code: "tool_failed", message: "no", retry: "never" } as never,
  approvalId: "apr_1",
  expiresAt: 5,
  replayed: true,
  timedOut: true,
};

describe("an outcome of one text, read again", () => {
  it.each(Object.entries(fields))("has its `%s`", async (name, value) => {
    const location = `${name}.db`;
    const clock = new FakeClock();
    let key: string;
    let outcome: ToolOutcome;
    {
      await using store = openAt(location, { clock });
      const record = recordOf(callOf(clock), { fence: store.incarnation });
      key = record.key;
      outcome = { ...outcomeOf(record.call), [name]: value } as ToolOutcome; // whatever goes with what elsewhere
      await store.commit(claimOf(record), "committed");
      await store.commit(settleOf(record, "ok", { outcome }), "committed");
    }
    await using again = openAt(location, { clock });
    expect((await again.call({ key }))?.outcome).toEqual(outcome);
  });
});
