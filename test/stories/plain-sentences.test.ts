import { expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { InFlight } from "../../packages/postern/src/runtime/services/in-flight.ts";
import { Toolbox } from "../../packages/postern/src/tools/index.ts";
import { aCall } from "../fakes/call.ts";
import { asker } from "../fakes/runtime-fixture.ts";

const shapes = {
  type: "object",
  properties: { a: { type: "string" }, b: { anyOf: [{ type: "string" }, { type: "null" }] } },
  required: ["a", "b"],
  additionalProperties: false,
};

it.each([
  [{ a: "x" }, "`b` is missing."],
  [{}, "`a`, `b` are missing."],
  [{ a: "x", b: null, c: 1 }, "`c` is not a known argument."],
  [{ a: "x", b: 1 }, "`b` does not fit any of the allowed forms"],
  [{ a: 1, b: null }, "`a`: expected string, got number."],
])("a mismatch of %j is described in a whole sentence", async (given, output) => {
  const tool = defineTool({
    name: "shape",
    description: "x",
    risk: "safe",
    idempotent: true,
    inputSchema: shapes,
    execute: () => "ran",
  });
  await using runtime = await createRuntime({ tools: [tool] });
  const { text } = await runtime.invoke({ tool: "shape", arguments: given }, asker);
  expect(text).toContain("The arguments do not fit `shape`; it was not run: ");
  expect(text).toContain(output);
  expect(text).not.toMatch(/undefined|\. [a-z`]|: is |: does |: has | {2}/);
});

it.each([undefined, null, 7, "text", {}, { name: "" }, { name: 3 }, { description: "x" }])(
  "%j is refused as a tool with its type",
  (value) => {
    const adding = (): unknown => new Toolbox().add(value as never);
    expect(adding).toThrow(/^The tool .+ does not have the shape of a tool: a tool needs a `name`/);
    expect(adding).not.toThrow(/A undefined|`undefined`/);
  },
);

it.each([
  [1, "1 call was still not over after that; what ran will"],
  [2, "2 calls were still not over after that; what ran will"],
])("counts %i calls in the singular and in the plural", async (calls, output) => {
  const clock = new FakeClock();
  const logged: string[] = [];
  const inFlight = new InFlight(clock, (problem) => void logged.push(problem));
  const arrived = { moment: "arrived", call: aCall() } as const;
  for (let i = 0; i < calls; i += 1) inFlight.see(arrived);
  inFlight.onStop(() => {}); // it runs on
  const isOver = inFlight.areOver(50);
  await clock.advance(51);
  expect(await isOver).toBe(false);
  const stopped = inFlight.stop();
  await clock.advance(1_001);
  await stopped;
  expect(logged.join("\n")).toContain(output);
});
