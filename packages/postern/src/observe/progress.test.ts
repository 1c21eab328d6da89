import {
  type AgentProgress,
  type CallEvent,
  type EndName,
  refusal,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { type CallContext, createRuntime, defineTool, type Runtime } from "../index.ts";
import { Listeners, progressWatcher } from "./progress.ts";
import { createStream } from "./stream.ts";

function attempted(call: ToolCall): CallEvent {
  const weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "1" } as const;
  return { moment: "attempted", at: 1, call, key: call.id, weighing };
}

function ended(call: ToolCall, as: EndName, text: string): CallEvent {
  const shown = { callId: call.id, content: [], text } as const;
  const outcome: ToolOutcome =
    as === "succeeded" ? { ...shown, status: "ok" } : { ...shown, status: "denied", refusal: refusal("blocked", text) };
  return { moment: "ended", at: 2, call, as, outcome, latencyMs: 1 };
}

function progressOf(events: readonly CallEvent[]): readonly AgentProgress[] {
  const received: AgentProgress[] = [];
  const stream = createStream(expect.unreachable);
  stream.watch(progressWatcher((progress) => void received.push(progress)));
  for (const event of events) stream.announce(event);
  return received;
}

const call = aCall({ number: 1, tool: "ping" });

it("sends TOOL_CALL, then TOOL_RESULT, with the call's number in its run", () => {
  const { runId, principal } = call.authority;
  const common = { agentId: principal.agent, runId, seq: 1 };
  const arrived: CallEvent = { moment: "arrived", call };
  expect(progressOf([arrived, attempted(call), ended(call, "succeeded", "pong")])).toEqual([
    { ...common, step: "TOOL_CALL", content: "ping" },
    { ...common, step: "TOOL_RESULT", content: "pong" },
  ]);
});

it("sends nothing of a denied call", () => {
  expect(progressOf([{ moment: "arrived", call }, ended(call, "refused", "no")])).toEqual([]);
});

it("continues if the sink throws", async () => {
  const problems: string[] = [];
  const stream = createStream((problem) => problems.push(problem));
  stream.watch(
    progressWatcher(({ step }) => {
      if (step === "TOOL_PROGRESS") return Promise.reject(new Error("later"));
      throw new Error("now");
    }),
  );
  stream.announce(attempted(call));
  stream.announce({ moment: "progressed", call, content: "half" });
  stream.announce(ended(call, "succeeded", "pong"));
  await new Promise(setImmediate);
  expect(problems.toSorted()).toEqual([
    "A watcher failed at `attempted`: now.",
    "A watcher failed at `ended`: now.",
    "A watcher failed at `progressed`: later.",
  ]);
});

it("begins a call with TOOL_CALL, also if its first progress comes before its claim", () => {
  const events = [
    { moment: "progressed", call, content: "half" } as const,
    attempted(call),
    ended(call, "succeeded", "pong"),
  ];
  expect(progressOf(events).map(({ step }) => step)).toEqual(["TOOL_CALL", "TOOL_PROGRESS", "TOOL_RESULT"]);
});

it("counts the calls of each run, also parallel ones", () => {
  const second = aCall({ number: 2, tool: "pong" });
  const elsewhere = aCall({ number: 3, tool: "else", runId: "run_other" });
  const events = [attempted(call), attempted(second), attempted(elsewhere)];
  const ends = [ended(second, "succeeded", "2"), ended(call, "succeeded", "1")];
  expect(progressOf([...events, ...ends]).map(({ seq }) => seq)).toEqual([1, 2, 1, 2, 1]);
});

it("sends one TOOL_RESULT a call", () => {
  const events = [attempted(call), ended(call, "succeeded", "1"), ended(call, "settled", "2")];
  expect(progressOf(events).map(({ content }) => content)).toEqual(["ping", "1"]);
});

it("forgets the oldest run instead of growing without limit", () => {
  const received: AgentProgress[] = [];
  const watch = progressWatcher((progress) => void received.push(progress));
  const runs = Array.from({ length: 10_001 }, (_, n) => `run_${n}`);
  let number = 0;
  const attempt = (runId: string): void => {
    number += 1;
    watch(attempted(aCall({ number, runId })));
  };
  for (const runId of runs.slice(0, 10_000)) attempt(runId);
  attempt("run_0"); // used again, so run_1 is the oldest now
  attempt("run_10000");
  for (const runId of ["run_0", "run_9999", "run_1"]) attempt(runId);
  expect(received.slice(-3).map(({ seq }) => seq)).toEqual([3, 2, 1]);
});

describe("a caller with `onProgress`", () => {
  const pong = defineTool({ name: "pong", description: "p", risk: "safe", idempotent: true, execute: () => "pong" });
  const risky = defineTool({ name: "risky", description: "r", risk: "high", idempotent: false, execute: () => "done" });
  const outer = defineTool({
    ...{ name: "outer", description: "o", risk: "safe", idempotent: true },
    execute: async (_input, { progress, call: inner }) => {
      progress("half of it", 0.5);
      return `with ${(await inner({ tool: "pong" })).text}`;
    },
  });
  const problems: string[] = [];

  async function open(): Promise<Runtime> {
    problems.length = 0;
    const runtime = await createRuntime({
      tools: [pong, risky, outer],
      approvals: { patience: "suspend" },
      log: (problem) => problems.push(problem),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  const context: CallContext = { principal: { tenant: "t", agent: "ada" }, runId: "run_1" };

  function listening(): CallContext & { readonly received: AgentProgress[] } {
    const received: AgentProgress[] = [];
    return { ...context, received, onProgress: (step) => void received.push(step) };
  }

  const shownSteps = (received: readonly AgentProgress[]) =>
    received.map(({ seq, step, content }) => `${seq} ${step} ${content}`);

  it("gets the progress of its call and of the calls that this makes", async () => {
    const runtime = await open();
    const shown: AgentProgress[] = [];
    using _ = runtime.watch(progressWatcher((step) => void shown.push(step)));
    const mine = listening();
    await runtime.invoke({ tool: "outer" }, mine);
    expect(shownSteps(mine.received)).toEqual([
      "1 TOOL_CALL outer",
      "1 TOOL_PROGRESS half of it",
      "2 TOOL_CALL pong",
      "2 TOOL_RESULT pong",
      "1 TOOL_RESULT with pong",
    ]);
    expect(mine.received).toEqual(shown);
    expect(mine.received[0]).toMatchObject({ agentId: "ada", runId: "run_1" });
  });

  it("gets nothing of other calls, and nothing after its call has ended", async () => {
    const runtime = await open();
    const [one, other] = [listening(), listening()];
    await Promise.all([
      runtime.invoke({ tool: "pong" }, one).then(() => expect(one.received).toHaveLength(2)),
      runtime.invoke({ tool: "pong" }, other),
      runtime.invoke({ tool: "pong" }, context),
    ]);
    expect(shownSteps([...one.received, ...other.received])).toEqual([
      "1 TOOL_CALL pong",
      "1 TOOL_RESULT pong",
      "2 TOOL_CALL pong",
      "2 TOOL_RESULT pong",
    ]);
  });

  it("gets nothing of a call that is refused, held or replayed", async () => {
    const runtime = await open();
    const mine = { ...listening(), idempotencyKey: "k" };
    await runtime.invoke({ tool: "nothing" }, mine);
    const { approvalId = "" } = await runtime.invoke({ tool: "risky" }, mine);
    expect(mine.received).toEqual([]);
    await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "ann" } });
    const resumed = listening();
    await runtime.resume(approvalId, resumed);
    expect(shownSteps(resumed.received)).toEqual(["1 TOOL_CALL risky", "1 TOOL_RESULT done"]);
    expect(await runtime.invoke({ tool: "risky" }, mine)).toMatchObject({ replayed: true });
    expect(mine.received).toEqual([]);
  });

  it("is logged if its sink fails, and its call ends normally", async () => {
    const runtime = await open();
    const onProgress = ({ step }: AgentProgress): Promise<void> => {
      if (step === "TOOL_CALL") return Promise.reject(new Error("no screen"));
      throw new Error("no screen at all");
    };
    expect(await runtime.invoke({ tool: "pong" }, { ...context, onProgress })).toMatchObject({ status: "ok" });
    await new Promise(setImmediate);
    expect(problems.toSorted()).toEqual([
      "A watcher failed at `attempted`: no screen.",
      "A watcher failed at `ended`: no screen at all.",
    ]);
  });

  it("watches the stream only during its call", () => {
    let watching = 0;
    const stream = createStream(expect.unreachable);
    const listeners = new Listeners({
      watch: (watcher) => {
        watching += 1;
        const seat = stream.watch(watcher);
        return {
          [Symbol.dispose]: () => {
            watching -= 1;
            seat[Symbol.dispose]();
          },
        };
      },
    });
    const other = aCall({ number: 2, tool: "pong" });
    const unheard = (): void => expect.unreachable();
    const left = (of: ToolCall): CallEvent => {
      const outcome = { status: "ok", callId: of.id, content: [], text: "" } as const;
      return { moment: "left", call: of, outcome, durationMs: 1 };
    };
    expect(watching).toBe(0);
    listeners.listen(call, unheard);
    listeners.listen(other, unheard);
    expect(watching).toBe(1);
    stream.announce(left(call));
    expect(watching).toBe(1);
    stream.announce(left(other));
    expect(watching).toBe(0);
  });
});
