import type { CallEvent, ToolOutcome } from "@postern/core";
import { expect, it, vi } from "vitest";
import { aCall } from "../../../../test/fakes/call.ts";
import { hooksWatcher } from "./hooks.ts";
import { createStream } from "./stream.ts";

const call = aCall({ tool: "ping" });
const outcome: ToolOutcome = { status: "ok", callId: call.id, content: [], text: "pong" };
const moments: readonly CallEvent[] = [
  { moment: "arrived", call },
  { moment: "progressed", call, content: "half" },
  { moment: "left", call, outcome, durationMs: 12.5 },
];

it("calls one TOOL_START with the tool's name and one TOOL_END with name, status and duration", () => {
  const stream = createStream(expect.unreachable);
  const toolStart = vi.fn();
  const toolEnd = vi.fn();
  stream.watch(hooksWatcher({ toolStart, toolEnd }));
  for (const moment of moments) stream.announce(moment);
  const { runId, traceId } = call.authority;
  const start = { toolName: "ping", action: "default", callId: call.id, runId, traceId };
  expect(toolStart.mock.calls).toEqual([[start]]);
  expect(toolEnd.mock.calls).toEqual([[{ ...start, status: "ok", durationMs: 12.5 }]]);
});

it("works with one hook or none", () => {
  const stream = createStream(expect.unreachable);
  const toolEnd = vi.fn();
  stream.watch(hooksWatcher({}));
  stream.watch(hooksWatcher({ toolEnd }));
  for (const moment of moments) stream.announce(moment);
  expect(toolEnd).toHaveBeenCalledOnce();
});

it("calls TOOL_END although TOOL_START threw, and logs both failures", async () => {
  const problems: string[] = [];
  const stream = createStream((problem) => problems.push(problem));
  const toolEnd = vi.fn(async () => {
    throw new Error("end");
  });
  const toolStart = (): void => {
    throw new Error("start");
  };
  stream.watch(hooksWatcher({ toolStart, toolEnd }));
  for (const moment of moments) stream.announce(moment);
  await Promise.resolve();
  expect(toolEnd).toHaveBeenCalledOnce();
  expect(problems).toEqual(["A watcher failed at `arrived`: start.", "A watcher failed at `left`: end."]);
});
