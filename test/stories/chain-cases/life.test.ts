/** A script's life on each engine: what it leaves behind, which is nothing (CASES 206 to 231). */
import { expect } from "vitest";
import { onEachEngine, patient } from "../../fakes/engine-cases.ts";
import { type EngineFixture, fixtureWithEngine, resultOf, watched } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, driver, expectLetGo, room, says }) => {
  says("when the runtime closes the script ends as closed, and nothing more is called (case 206)", async () => {
    await using at = await room();
    const running = at.runtime.runChain(code("sleeps"));
    await expect.poll(() => at.ran.length, { timeout: patient }).toBe(1);
    await at.runtime.close(1_500);
    const { structured } = await running;
    expect(resultOf({ structured: structured ?? null })).toMatchObject({ status: "error", error_kind: "closed" });
    expect(at.ran).toEqual(["1"]);
    expect((await at.runtime.runChain(code("echo"))).status).not.toBe("ok");
  });

  says(
    "while it runs it is listed, and as interrupted when its caller left; an unknown one is no error (case 207)",
    async () => {
      await using at = await room();
      const cancel = new AbortController();
      const running = at.runtime.runChain(code("sleeps"), { signal: cancel.signal });
      await expect.poll(async () => (await at.runtime.chains?.list())?.length, { timeout: patient }).toBe(1);
      cancel.abort();
      await running.catch(() => undefined);
      expect(await at.runtime.chains?.list()).toMatchObject([{ state: "interrupted" }]);
      expect(await at.runtime.chains?.resume("call_unknown")).toBeUndefined();
    },
  );

  says(
    "a script that ended leaves no session: no process, and no place that could be answered (case 208)",
    async () => {
      await using at = await room();
      await at.runtime.runChain(code("echo"));
      expect(await at.runtime.chains?.list()).toEqual([]);
      const [session] = at.seen.sessions;
      await expectLetGo(session);
      expect(() => session?.settle([{ place: 0, status: "ok", value: null }])).toThrow(/not waited for/);
      expect(await session?.next()).toMatchObject({ step: "done" });
    },
  );

  says("where it cannot run, the tool is not registered, and naming it is refused (case 210)", async () => {
    const away = (seen: EngineFixture["seen"]) => ({
      ...watched(driver, { seen }),
      unavailable: async () => "gone",
    });
    await expect(fixtureWithEngine((seen) => [away(seen)])).rejects.toThrow(/cannot run here: gone/);
  });

  says("a variable set in one run is not visible in the next (case 228)", async () => {
    await using at = await room();
    await at.runtime.runChain(code("sets"));
    const outcome = await at.runtime.runChain(code("finds"));
    expect(outcome.text).toMatch(/undefined|leftover/);
    expect(resultOf(outcome).output_text).not.toBe("1");
  });

  says("no id and no path leads out of a script's place (case 231)", async () => {
    await using at = await room();
    for (const idempotencyKey of ["../../etc", "..", "chain_1/../.."]) {
      const outcome = await at.runtime.runChain(code("echo"), { idempotencyKey });
      expect(outcome.status).toBe("ok");
    }
    expect(at.seen.programs.every(({ chainId }) => /^chain_[0-9a-f]{32}$/.test(chainId))).toBe(true);
    expect(new Set(at.seen.programs.map(({ chainId }) => chainId)).size).toBe(at.seen.programs.length);
    expect(resultOf(await at.runtime.runChain(code("outside"))).output_text).toBe("refused,refused,refused");
  });
});
