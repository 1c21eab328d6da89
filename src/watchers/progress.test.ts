import { expect, it } from "vitest";
import { aCall } from "../../test/fakes/call.ts";
import type { ToolCall } from "../calls/call.ts";
import type { CallEvent, EndName } from "../calls/event.ts";
import { type AgentProgress, progressWatcher } from "./progress.ts";
import { createStream } from "./stream.ts";

function attempted(call: ToolCall): CallEvent {
  const weighing = { verdict: "ALLOW", risk: "safe", reasons: [], policyVersion: "1" } as const;
  return { moment: "attempted", at: 1, call, key: call.id, weighing };
}

function ended(call: ToolCall, as: EndName, text: string): CallEvent {
  const status = as === "succeeded" ? "ok" : "denied";
  const outcome = { status, callId: call.id, content: [], text } as const;
  return { moment: "ended", at: 2, call, as, outcome, latencyMs: 1 };
}

function progressOf(events: readonly CallEvent[]): readonly AgentProgress[] {
  const told: AgentProgress[] = [];
  const stream = createStream(expect.unreachable);
  stream.watch(progressWatcher((progress) => void told.push(progress)));
  for (const event of events) stream.announce(event);
  return told;
}

const call = aCall({ number: 1, tool: "ping" });

it("tells TOOL_CALL, then TOOL_RESULT, with the call's number in its run (case 196)", () => {
  const { runId, principal } = call.authority;
  const common = { agentId: principal.agent, runId, seq: 1 };
  const arrived: CallEvent = { moment: "arrived", call };
  expect(progressOf([arrived, attempted(call), ended(call, "succeeded", "pong")])).toEqual([
    { ...common, step: "TOOL_CALL", content: "ping" },
    { ...common, step: "TOOL_RESULT", content: "pong" },
  ]);
});

it("tells nothing of a denied call (case 196)", () => {
  expect(progressOf([{ moment: "arrived", call }, ended(call, "refused", "no")])).toEqual([]);
});

it("goes on when the sink throws (case 196)", async () => {
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

it("begins a call with TOOL_CALL also when its first progress comes before its claim", () => {
  const events = [
    { moment: "progressed", call, content: "half" } as const,
    attempted(call),
    ended(call, "succeeded", "pong"),
  ];
  expect(progressOf(events).map(({ step }) => step)).toEqual(["TOOL_CALL", "TOOL_PROGRESS", "TOOL_RESULT"]);
});

it("counts each run's calls for itself and keeps parallel ones apart", () => {
  const second = aCall({ number: 2, tool: "pong" });
  const elsewhere = aCall({ number: 3, tool: "else", runId: "run_other" });
  const events = [attempted(call), attempted(second), attempted(elsewhere)];
  const ends = [ended(second, "succeeded", "2"), ended(call, "succeeded", "1")];
  expect(progressOf([...events, ...ends]).map(({ seq }) => seq)).toEqual([1, 2, 1, 2, 1]);
});

it("tells one TOOL_RESULT a call", () => {
  const events = [attempted(call), ended(call, "succeeded", "1"), ended(call, "settled", "2")];
  expect(progressOf(events).map(({ content }) => content)).toEqual(["ping", "1"]);
});

it("forgets the oldest run rather than growing for ever", () => {
  const told: AgentProgress[] = [];
  const watch = progressWatcher((progress) => void told.push(progress));
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
  expect(told.slice(-3).map(({ seq }) => seq)).toEqual([3, 2, 1]);
});
