import type { Authority } from "@postern/core";
import { expect, it } from "vitest";
import { aLogStore, bent } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { CallFilter } from "../store/store.ts";
import { CallHistory } from "./history.ts";

const inRun = (runId: string): Authority => ({
  principal: { tenant: "default", agent: "ann" },
  scopes: [],
  runId,
  traceId: "0".repeat(32),
});

it("forgets, of more than ten thousand pasts, the longest unused: one that each call asks about stays", async () => {
  const clock = new FakeClock();
  const store = aLogStore(clock);
  const read: CallFilter[] = [];
  const calls: typeof store.calls = (where) => {
    read.push(where);
    return store.calls(where);
  };
  const reads = { run: 60_000, tenant: 60_000 };
  const book = new CallHistory({
    reads: () => reads,
    clock,
    runs: { countedIn: ({ runId }) => `run\0default\0${runId}`, mayUse: async () => true },
    store: bent(store, { calls }),
    known: () => undefined,
    argumentsOf: async ({ call }) => call.arguments,
  });
  for (let i = 0; i < 10_010; i += 1) await book.of(inRun(`run_${i}`), reads);
  expect(read.filter(({ runId }) => runId === undefined)).toHaveLength(1);
  await book.of(inRun("run_0"), reads);
  expect(read.filter(({ runId }) => runId === "run_0")).toHaveLength(2);
});
