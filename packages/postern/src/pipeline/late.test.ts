import { expect, it } from "vitest";
import { FakeClock, settled } from "../../../core/src/testing/clock.ts";
import { createRuntime, type Runtime } from "../index.ts";

/** A tool that is told to end by the clock and answers when the test lets it. */
async function overdue(idempotent = false) {
  const clock = new FakeClock();
  const answer = Promise.withResolvers<unknown>();
  const problems: string[] = [];
  const runtime: Runtime = await createRuntime({
    tools: [
      {
        name: "send",
        description: "Sends.",
        risk: "safe",
        effects: "write",
        idempotent,
        timeoutMs: 50,
        execute: () => answer.promise,
      },
    ],
    clock,
    log: (problem) => problems.push(problem),
  });
  const call = runtime.invoke({ tool: "send" });
  await expect.poll(async () => (await runtime.calls.list({ state: "attempted" })).length).toBe(1);
  await settled();
  await clock.advance(50);
  return { runtime, answer, problems, outcome: await call };
}

it("an answer that comes after its call was over is logged with the call, and changes nothing", async () => {
  const { runtime, answer, problems, outcome } = await overdue();
  await using _closing = runtime;
  answer.resolve("sent, at last: s3cret");
  await settled();
  expect(problems).toEqual([
    `\`send\` answered after its call \`${outcome.callId}\` was over: it returned. The outcome of the call stays as it is; if it is \`unknown\`, settle it.`,
  ]);
  expect((await runtime.calls.get(outcome.callId))?.outcome).toEqual(outcome);
});

it("so is a late failure, but not that a tool stopped when it was aborted", async () => {
  const failed = await overdue();
  const stopped = await overdue();
  await using _failing = failed.runtime;
  await using _stopping = stopped.runtime;
  failed.answer.reject(new Error("no such mailbox"));
  stopped.answer.reject(new DOMException("told to", "AbortError"));
  await settled();
  expect(failed.problems).toEqual([expect.stringContaining("it threw: Error: no such mailbox.")]);
  expect(stopped.problems).toEqual([]);
});

it("a log that fails at a late answer breaks nothing", async () => {
  const clock = new FakeClock();
  const answer = Promise.withResolvers<unknown>();
  await using runtime = await createRuntime({
    tools: [
      { name: "t", description: "t", risk: "safe", idempotent: true, timeoutMs: 50, execute: () => answer.promise },
    ],
    clock,
    store: "memory",
    log: () => {
      throw new Error("no log");
    },
  });
  const call = runtime.invoke({ tool: "t" });
  await settled();
  await clock.advance(50);
  expect((await call).refusal?.code).toBe("timed_out");
  answer.resolve("late");
  await settled();
});
