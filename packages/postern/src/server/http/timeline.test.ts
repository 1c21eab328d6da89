import type { CallRecord, Json } from "@postern/core";
import { shape, timelineCall } from "@postern/core/contract";
import { describe, expect, it } from "vitest";
import { aCall } from "../../../../../test/fakes/call.ts";
import { anOutcome, aRecord } from "../../../../../test/fakes/stub-runtime.ts";
import { linesIn, shownCall } from "./timeline.ts";

const digest = "ab".repeat(32);
const script = (trace: Json): CallRecord => ({
  ...aRecord(),
  key: "script",
  call: aCall({ number: 1, tool: "tool_chain" }),
  outcome: anOutcome({ structured: { call_trace: trace } }),
});
const child = (number: number, tool = "echo"): CallRecord => ({
  ...aRecord(),
  call: { ...aCall({ number, tool }), digest, parentId: "script" },
});
const received = (line?: number, tool = "echo"): Json => ({
  tool,
  args_digest: digest.slice(0, 16),
  ...(line !== undefined && { line }),
});

describe("a call on a timeline", () => {
  it("says which line of its script made it, each line once, in the order of the calls", () => {
    const [one, two, other] = [child(2), child(3), child(4, "mail")];
    const lines = linesIn([other, two, one, script([received(7), received(9), received(8, "mail")])]);
    expect([one, two, other].map(({ call }) => lines.get(call.id))).toEqual([7, 9, 8]);
  });

  it("has no line if the script gave none, or nonsense", () => {
    for (const trace of [
      undefined,
      null,
      "x",
      [],
      [null, 1, {}],
      [received()],
      [{ tool: "echo", args_digest: "", line: 1 }],
    ])
      expect(linesIn([child(2), script(trace as Json)]).size).toBe(0);
    expect(linesIn([child(2)]).size).toBe(0);
  });

  it("names each artifact once: the whole result, files, and stored blocks", () => {
    const [a, b, c] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];
    const outcome = anOutcome({
      artifact: a,
      files: [{ path: "img/1.png", mediaType: "image/png", artifact: b }],
      content: [
        { type: "text", text: "x" },
        { type: "image", mediaType: "image/png", artifact: b },
        { type: "file", mediaType: "text/csv", artifact: c, name: "rows.csv" },
        { type: "image", mediaType: "image/png", data: "aa" },
      ],
    });
    expect(shape(timelineCall, shownCall({ ...aRecord(), outcome }, undefined, undefined)).artifacts).toEqual([
      { digest: a, name: "whole result" },
      { digest: b, media_type: "image/png", name: "img/1.png" },
      { digest: c, media_type: "text/csv", name: "rows.csv" },
    ]);
  });
});
