import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { enginesHere } from "../fakes/engine-fixture.ts";
import { effectsIn, runScriptProcess } from "../fakes/script-process.ts";

/** The number of moments that are tried; POSTERN_KILLS=100 tries all. Pyodide takes a minute for one. */
const killsOn = (engine: string): number => Number(process.env["POSTERN_KILLS"] ?? (engine === "pyodide" ? 1 : 3));
const engines = await enginesHere();
afterAll(async () => {
  await Promise.all(engines.map(({ driver }) => driver[Symbol.asyncDispose]()));
});
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "postern-killed-"));
  folders.push(made);
  return made;
}

it.each(["snapshot", "replay", ...engines.filter(({ missing }) => missing === undefined).map(({ name }) => name)])(
  "a script killed at any moment is finished by the next process, each effect at most once (%s)",
  async (engine) => {
    const whole = folder();
    const undisturbed = await runScriptProcess(whole, 0, engine);
    expect(undisturbed).toMatchObject({ status: "ok", result: { output_text: "did a,did b,did c,did d" } });
    expect(effectsIn(whole)).toEqual(["a", "b", "c", "d"]);
    const moments = undisturbed?.moments ?? 0;
    const every = Math.max(1, Math.ceil(moments / killsOn(engine)));
    for (let at = Math.ceil(every / 2); at <= moments; at += every) {
      const place = folder();
      expect(await runScriptProcess(place, at, engine), `moment ${at}`).toBeUndefined();
      const before = effectsIn(place);
      const ended = await runScriptProcess(place, 0, engine);
      const diary = effectsIn(place);
      expect(new Set(diary).size, `${at}: ${diary.join()}`).toBe(diary.length);
      expect(diary.slice(0, before.length)).toEqual(before);
      expect(ended?.status, `moment ${at}`).toBe("ok");
      const messages = ended?.result.output_text.split(",") ?? [];
      expect(messages).toHaveLength(4);
      for (const [n, to] of ["a", "b", "c", "d"].entries())
        expect(messages[n] === `did ${to}` || messages[n] === "outcome_unknown", `${at}: ${messages.join()}`).toBe(
          true,
        );
    }
  },
  300_000,
);
