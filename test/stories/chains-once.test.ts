/** A script that is cut short, thawed, replayed or moved has each effect at most once. */
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { inJavaScript, inPython, runStory, type ScriptLanguage, stories } from "../fakes/freezing-scripts.ts";
import { isWhole } from "../fakes/share.ts";

/** `npm run test:system` tries more stories: each run of a Python script starts a process. */
const patient = 300_000;
const real = await Promise.all(
  ["quickjs", "cpython"].map(async (name) => {
    const driver = await knownEngines.get(name)?.(new SystemClock());
    if (driver === undefined) throw new Error(`There is no engine \`${name}\`.`);
    const missing = await driver.unavailable();
    if (missing !== undefined) console.warn(`SKIPPED: ${name}: ${missing}`);
    return { name, driver, isHere: missing === undefined };
  }),
);
afterAll(async () => {
  await Promise.all(real.map(({ driver }) => driver[Symbol.asyncDispose]()));
});

const faked = inJavaScript(
  (tool, given) => `call("${tool}", { to: ${given} })`,
  'host("progress", { text: "on the way" })',
);
const inQuickJs = inJavaScript((tool, given) => `tools.${tool}({ to: ${given} })`, 'progress("on the way")');
const fakes = [
  ["an engine that is thawed", fakeDriver()],
  ["an engine that is replayed", fakeDriver({ durability: "replay" })],
] as const;
const engines: readonly (readonly [string, ScriptLanguage, number])[] = [
  ...fakes.map(
    ([name, driver]) => [name, { driver, language: "javascript", sourceOf: faked }, isWhole ? 240 : 12] as const,
  ),
  ...real
    .filter(({ isHere }) => isHere)
    .map(({ name, driver }) => {
      const { language } = driver.capabilities;
      const spoken = { driver, language, sourceOf: language === "python" ? inPython : inQuickJs };
      return [name, spoken, isWhole ? (language === "python" ? 10 : 30) : 1] as const;
    }),
];

describe.each(engines)("%s", (_name, spoken, numRuns) => {
  it(
    "any script, cut anywhere, has each effect at most once",
    async () => {
      const once = fc.asyncProperty(stories(false), async (story) => {
        const { effects } = await runStory(story, spoken);
        expect(effects).toEqual([...new Set(effects)]);
      });
      await fc.assert(once, { numRuns });
    },
    patient,
  );

  it(
    "a script that is the same in each life ends as it does undisturbed",
    async () => {
      const same = fc.asyncProperty(stories(true), async (story) => {
        const undisturbed = await runStory({ ...story, cuts: [], isRebuilt: false }, spoken);
        const lived = await runStory(story, spoken);
        expect(lived).toEqual({ ...undisturbed, lives: lived.lives });
      });
      await fc.assert(same, { numRuns });
    },
    patient,
  );
});
