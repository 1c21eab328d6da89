import type { Json } from "@postern/core";
import { expect, it } from "vitest";
import { ProtocolBroken } from "./frames.ts";
import { readStep } from "./step-frames.ts";

const call = { place: 0, tool: "echo", arguments: {} };
const calls = (changed: Readonly<Record<string, Json>>) => ({ step: "calls", calls: [{ ...call, ...changed }] });

it("reads the known fields of a call and drops others", () => {
  expect(readStep(calls({ line: 3, kind: "call", stranger: 1 }))).toEqual({
    step: "calls",
    calls: [{ ...call, line: 3, kind: "call" }],
  });
});

it.each<[string, object]>([
  ["a place below nothing", calls({ place: -1 })],
  ["half a place", calls({ place: 0.5 })],
  ["a place that is text", calls({ place: "0" })],
  ["a place nobody can count to", calls({ place: 2 ** 60 })],
  ["arguments that are a list", calls({ arguments: [] })],
  ["a kind of its own", calls({ kind: "host" })],
  ["no name", calls({ tool: "" })],
  ["an endless name", calls({ tool: "x".repeat(10_000) })],
  ["a flood of calls", { step: "calls", calls: Array(10_001).fill(call) }],
  ["a step of its own", { step: "host" }],
  ["a failure of its own", { step: "failed", why: "approved", message: "" }],
  ["a print that is none", { step: "done", printed: [{ stream: "out", text: 5 }] }],
])("a frame with %s breaks the protocol", (_what, frame) => {
  expect(() => readStep(frame as Parameters<typeof readStep>[0])).toThrow(ProtocolBroken);
});
