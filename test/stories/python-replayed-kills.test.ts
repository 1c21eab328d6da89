import { expect, it } from "vitest";
import { CpythonDriver } from "../../packages/engines/src/cpython/cpython.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { effectsIn, runScriptProcess } from "../fakes/script-process.ts";

const missing = await new CpythonDriver().unavailable();
if (missing !== undefined) console.warn(`SKIPPED: cpython: ${missing}`);

/** Moments of a process: the call that waits is the 13th, and the caller sees what follows it. */
const whileWaiting = 14;
const afterTheDecision = 15;

it.skipIf(missing !== undefined).each([
  [whileWaiting, [2, 6]],
  [afterTheDecision, [1, 6, 9]],
])(
  "a Python script killed at moment %i, and again while it is replayed, has each effect once",
  async (at, replaying) => {
    const place = ownFolder();
    expect(await runScriptProcess(place, at, "cpython")).toBeUndefined();
    expect(effectsIn(place)).toEqual(["a", "b"]);
    for (const again of replaying) {
      expect(await runScriptProcess(place, again, "cpython")).toBeUndefined();
      expect(effectsIn(place)).toEqual(["a", "b"]);
    }
    const ended = await runScriptProcess(place, 0, "cpython");
    expect(ended).toMatchObject({ status: "ok", result: { output_text: "did a,did b,did c,did d" } });
    expect(effectsIn(place)).toEqual(["a", "b", "c", "d"]);
  },
  300_000,
);
