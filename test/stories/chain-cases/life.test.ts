/** The life of a script on each engine: it leaves nothing behind (CASES 206 to 231). */
import { expect } from "vitest";
import { engineTimeoutMs, onEachEngine } from "../../fakes/engine-cases.ts";
import { type EngineFixture, fixtureWithEngine, recordedDriver, resultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, driver, expectReleased, room: open, check }) => {
  check("a script ends as closed when the runtime closes, and calls nothing more (case 206)", async () => {
    await using at = await open();
    const running = at.runtime.runChain(code("sleeps"));
    await expect.poll(() => at.ran.length, { timeout: engineTimeoutMs }).toBe(1);
    await at.runtime.close(1_500);
    const { structured } = await running;
    expect(resultOf({ structured: structured ?? null })).toMatchObject({ status: "error", error_kind: "closed" });
    expect(at.ran).toEqual(["1"]);
    expect((await at.runtime.runChain(code("echo"))).status).not.toBe("ok");
  });

  check(
    "a running script is listed, and as interrupted once its caller left; an unknown id is no error (case 207)",
    async () => {
      await using at = await open();
      const cancel = new AbortController();
      const running = at.runtime.runChain(code("sleeps"), { signal: cancel.signal });
      await expect.poll(async () => (await at.runtime.chains?.list())?.length, { timeout: engineTimeoutMs }).toBe(1);
      cancel.abort();
      await running.catch(() => undefined);
      expect(await at.runtime.chains?.list()).toMatchObject([{ state: "interrupted" }]);
      expect(await at.runtime.chains?.resume("call_unknown")).toBeUndefined();
    },
  );

  check("a script that ended leaves no session: no process, and no call to answer (case 208)", async () => {
    await using at = await open();
    await at.runtime.runChain(code("echo"));
    expect(await at.runtime.chains?.list()).toEqual([]);
    const [session] = at.seen.sessions;
    await expectReleased(session);
    expect(() => session?.settle([{ place: 0, status: "ok", value: null }])).toThrow(/not waited for/);
    expect(await session?.next()).toMatchObject({ step: "done" });
  });

  check("an engine that cannot run here registers no tool, and naming it is refused (case 210)", async () => {
    const away = (seen: EngineFixture["seen"]) => ({
      ...recordedDriver(driver, { seen }),
      unavailable: async () => "gone",
    });
    await expect(fixtureWithEngine((seen) => [away(seen)])).rejects.toThrow(/cannot run here: gone/);
  });

  check("a variable set in one run is not visible in the next (case 228)", async () => {
    await using at = await open();
    await at.runtime.runChain(code("sets"));
    const outcome = await at.runtime.runChain(code("finds"));
    expect(outcome.text).toMatch(/undefined|leftover/);
    expect(resultOf(outcome).output_text).not.toBe("1");
  });

  check("no id and no path leads out of a script's folder (case 231)", async () => {
    await using at = await open();
    for (const idempotencyKey of ["../../etc", "..", "chain_1/../.."]) {
      const outcome = await at.runtime.runChain(code("echo"), { idempotencyKey });
      expect(outcome.status).toBe("ok");
    }
    expect(at.seen.programs.every(({ chainId }) => /^chain_[0-9a-f]{32}$/.test(chainId))).toBe(true);
    expect(new Set(at.seen.programs.map(({ chainId }) => chainId)).size).toBe(at.seen.programs.length);
    expect(resultOf(await at.runtime.runChain(code("outside"))).output_text).toBe("refused,refused,refused");
  });
});
