/** A script that gave a call up is killed at any moment: the next process takes the same branch. */
import { expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { effectsIn, runScriptProcess } from "../fakes/script-process.ts";

/** The number of moments that are tried; POSTERN_KILLS=100 tries all. */
const kills = Number(process.env["POSTERN_KILLS"] ?? 4);

async function missing(engine: string): Promise<string | undefined> {
  await using driver = await knownEngines.get(engine)?.(new SystemClock());
  return driver === undefined ? "it is unknown" : await driver.unavailable();
}
const engines = await Promise.all(["quickjs", "cpython"].map(async (name) => ({ name, problem: await missing(name) })));

it.each(engines.filter(({ problem }) => problem === undefined))(
  "a killed script that gave up a call takes the same branch again ($name)",
  async ({ name }) => {
    const whole = ownFolder();
    const undisturbed = await runScriptProcess(whole, 0, name, "timers-child");
    expect(undisturbed).toMatchObject({ status: "ok", result: { output_text: "too slow" } });
    expect(effectsIn(whole)).toEqual(["slow", "too slow", "after"]);
    const moments = undisturbed?.moments ?? 0;
    const every = Math.max(1, Math.floor(moments / kills));
    for (let at = 1; at <= moments; at += every) {
      const place = ownFolder();
      expect(await runScriptProcess(place, at, name, "timers-child"), `moment ${at}`).toBeUndefined();
      const before = effectsIn(place);
      const ended = await runScriptProcess(place, 0, name, "timers-child");
      const effects = effectsIn(place);
      expect(new Set(effects).size, `${at}: ${effects.join()}`).toBe(effects.length);
      expect(ended?.status, `moment ${at}: ${JSON.stringify(ended)}`).toBe("ok");
      if (before.includes("too slow")) expect(ended?.result.output_text, `moment ${at}`).toBe("too slow");
    }
  },
  300_000,
);
