import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { chainLimits, Session } from "../call/session.ts";
import { Journal } from "./journal.ts";

const line = { tool: "t", argumentsDigest: "d", status: "ok", durationMs: 1, callId: "c" } as const;

it("freezes a journal as it was at the mark", () => {
  const journal = new Journal(1_000);
  journal.note({ ...line, place: 1 });
  journal.note({ ...line, place: 0 });
  journal.print([{ stream: "out", text: "before" }]);
  journal.preview({ artifact: "a", tool: "t" });
  journal.last = 4;
  const mark = journal.mark();
  journal.note({ ...line, place: 3 });
  journal.print([{ stream: "out", text: "after" }]);
  journal.file({ artifact: "f", mediaType: "text/plain", put: true });
  journal.use({ ref: "a" });
  journal.last = 9;
  const state = journal.freeze(mark);
  expect(state.lines.map(({ place }) => place)).toEqual([0, 1]);
  expect(state).toMatchObject({ printed: [{ text: "before" }], files: [], previews: [{ artifact: "a" }], last: 4 });
  expect(journal.freeze(journal.mark()).lines.map(({ place }) => place)).toEqual([0, 1, 3]);
});

it("freezes a session as it was at the mark, except its time", async () => {
  const clock = new FakeClock();
  const limits = { ...chainLimits, totalTimeoutMs: 1_000 };
  const session = new Session(limits, clock, {
    ...{ limits, calls: 1, pins: ["p"], usedMs: 100 },
    trace: [{ tool: "t", argumentsDigest: "d", status: "ok", durationMs: 1 }],
  });
  const mark = session.mark();
  session.spend();
  session.pin("q");
  await clock.advance(50);
  expect(session.freeze(mark)).toMatchObject({ calls: 1, pins: ["p"], usedMs: 150, trace: [{ tool: "t" }] });
  expect(session.freeze(session.mark())).toMatchObject({ calls: 2, pins: ["p", "q"] });
});
