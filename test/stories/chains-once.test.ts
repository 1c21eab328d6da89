/** However a script is cut short, thawed, replayed or moved, and whatever it asks for then: each effect at most once. */
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../src/calls/clock.ts";
import { knownEngines } from "../../src/chains/known-engines.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { live, type Spoken, stories } from "../fakes/restless-scripts.ts";

const runs = process.env["CORPORA"] === "whole" ? 40 : 1;
const quickjs = await knownEngines.get("quickjs")?.(new SystemClock());
if (quickjs === undefined) throw new Error("There is no engine `quickjs`.");
afterAll(() => quickjs[Symbol.asyncDispose]());

const call = (tool: string, given: string): string => `call("${tool}", { to: ${given} })`;
const host = 'host("progress", { text: "on the way" })';
const engines: readonly (readonly [string, Spoken, number])[] = [
  ["an engine that is thawed", { driver: fakeDriver(), call, host }, 12],
  ["an engine that is replayed", { driver: fakeDriver({ durability: "replay" }), call, host }, 12],
  [
    "quickjs",
    { driver: quickjs, call: (tool, given) => `tools.${tool}({ to: ${given} })`, host: 'progress("on the way")' },
    2,
  ],
];

describe.each(engines)("%s", (_name, spoken, numRuns) => {
  it("any script, cut anywhere: each effect at most once", async () => {
    const once = fc.asyncProperty(stories(false), async (story) => {
      const { effects } = await live(story, spoken);
      expect(effects).toEqual([...new Set(effects)]);
    });
    await fc.assert(once, { numRuns: numRuns * runs });
  });

  it("a script that is the same in each life comes to the end it has undisturbed", async () => {
    const same = fc.asyncProperty(stories(true), async (story) => {
      const undisturbed = await live({ ...story, cuts: [], isRebuilt: false }, spoken);
      const lived = await live(story, spoken);
      expect(lived).toEqual({ ...undisturbed, lives: lived.lives });
    });
    await fc.assert(same, { numRuns: numRuns * runs });
  });
});
