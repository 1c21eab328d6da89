/** How a script that fails ends on each engine, with its trace (CASES 209 to 230). */
import { expect, vi } from "vitest";
import { FakeClock } from "../../../packages/core/src/testing/clock.ts";
import { countHolds } from "../../fakes/artifact-holds.ts";
import { engineTimeoutMs, isAlive, onEachEngine } from "../../fakes/engine-cases.ts";
import { fixtureWithEngine, recordedDriver, resultOf } from "../../fakes/engine-fixture.ts";

await onEachEngine(({ code, driver, room: open, check }) => {
  check("a script's error gives is_error, status error and the trace (case 209)", async () => {
    await using at = await open();
    const outcome = await at.runtime.runChain(code("fails"));
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(resultOf(outcome)).toMatchObject({
      ...{ status: "error", error_kind: "script", error: expect.stringContaining("boom") },
      call_trace: [{ tool: "echo", status: "ok" }],
    });
  });

  check("an engine that throws gives an error, and leaves no session and no pin (case 212)", async () => {
    await using at = await fixtureWithEngine((seen) => [recordedDriver(driver, { seen, tornAfter: 1 })]);
    const held = countHolds(at.runtime);
    const outcome = await at.runtime.runChain(code("handle"));
    const kept = vi.mocked(at.runtime.artifacts.put).mock.calls.length;
    expect(resultOf(outcome)).toMatchObject({
      status: "error",
      error_kind: "crash",
      error: expect.stringContaining("wire torn"),
    });
    expect(resultOf(outcome).call_trace).toMatchObject([{ tool: "report", status: "ok" }]);
    expect(await at.runtime.chains?.list()).toEqual([]);
    expect(isAlive(at.seen.sessions[0])).toBe(false);
    expect(kept).toBeGreaterThan(0);
    expect(held()).toBe(0);
  });

  check("a timeout of 9999 seconds is cut to the most a script may have (case 213)", async () => {
    await using at = await open({ chains: { limits: { totalTimeoutMs: 30_000 } } });
    await at.runtime.runChain({ ...code("echo"), timeout: 9999 });
    expect(at.seen.limits[0]?.wallMs).toBeGreaterThan(0);
    expect(at.seen.limits[0]?.wallMs).toBeLessThanOrEqual(30_000);
  });

  check("a crash after the second of three tools lists two records with their statuses (case 217)", async () => {
    await using at = await open();
    const outcome = await at.runtime.runChain(code("crashes"));
    expect(resultOf(outcome).call_trace).toMatchObject([
      { tool: "note", status: "ok" },
      { tool: "echo", status: "ok" },
    ]);
    expect(outcome.text).toContain("It had called: note ok, echo ok.");
    expect(at.ran).toEqual(["1"]);
  });

  check("the 51st call fails with a budget error, which the script may catch (case 218)", async () => {
    await using at = await open();
    const outcome = await at.runtime.runChain(code("many"));
    expect(outcome).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^50 .*(budget|calls)[\s\S]*\[chain: 51 tool calls/),
    });
    expect(at.ran).toHaveLength(50);
  });

  check(
    "a script past its total time ends as timeout with its trace, and its sandbox is killed (case 219)",
    async () => {
      const clock = new FakeClock(); // an engine may take as long to start as it does here
      await using at = await open({ clock });
      const running = at.runtime.runChain({ ...code("sleeps"), timeout: 60 });
      await expect.poll(() => at.runtime.calls.list({ tool: "hold" }), { timeout: engineTimeoutMs }).toHaveLength(1);
      await clock.advance(60_000);
      const result = resultOf(await running);
      expect(result.status).toBe("timeout");
      expect(result.call_trace).toMatchObject([
        { tool: "note", status: "ok" },
        { tool: "hold", status: "timeout" },
      ]);
      expect(isAlive(at.seen.sessions[0])).toBe(false);
    },
  );

  check("an endless loop ends at its limit, not as ok (case 230)", async () => {
    await using at = await open({ chains: { cpuMs: 1_000 } });
    const result = resultOf(await at.runtime.runChain(code("loops")));
    expect(result).toMatchObject({ status: "timeout", error_kind: expect.stringMatching(/^(cpu|wall)$/) });
    expect(isAlive(at.seen.sessions[0])).toBe(false);
  });
});
