import { describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { RuntimeFault } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";

describe("tool_chain", () => {
  it("answers with the script's return value, its output and its trace (cases 208, 220)", async () => {
    await using h = await scriptFixture();
    const code = 'print("hello"); const r = await call("echo", { to: "x" }); return r.text;';
    const outcome = await h.runtime.runChain({ code }, asker);
    expect(outcome).toMatchObject({ status: "ok" });
    expect(outcome.text).toMatch(/^hello\nto x\n\[chain: 1 tool call in \d+ ms\]$/);
    expect(resultOf(outcome)).toMatchObject({
      status: "ok",
      output_text: "to x",
      logs: "hello",
      tool_calls: 1,
      error: null,
      call_trace: [{ tool: "echo", status: "ok", line: 1 }],
    });
    expect(await h.runtime.chains?.list()).toEqual([]);
    expect(h.ran).toEqual([{ to: "x" }]);
  });

  it("is not registered without an interpreter (case 210)", async () => {
    await using h = await runtimeFixture({ chains: { drivers: [fakeDriver({ unavailable: "no bubblewrap" })] } });
    await using bare = await runtimeFixture();
    expect(bare.runtime.tools.has("tool_chain")).toBe(false);
    expect(bare.runtime.chains).toBeUndefined();
    expect((await h.runtime.chains?.engines())?.[0]).toMatchObject({ name: "fake", problem: "no bubblewrap" });
    await expect(
      runtimeFixture({ chains: { drivers: [fakeDriver({ unavailable: "no bubblewrap" })], engines: ["fake"] } }),
    ).rejects.toThrow(/no bubblewrap/);
  });

  it("sends the registry's tool names to the sandbox with the script (cases 204, 211)", async () => {
    let names: readonly string[] = [];
    await using h = await scriptFixture(
      {},
      fakeDriver({
        started: (_how, program) => {
          names = program.tools.map(({ name }) => name);
        },
      }),
    );
    await h.runtime.runChain({ code: "return 1;" });
    expect(names).toEqual(["drop", "echo", "mail"]);
    const offered = h.runtime.offered().find(({ tool }) => tool === "tool_chain");
    expect(offered?.description).toContain("tools.echo(args: { to: string; slow?: boolean })");
  });

  it("answers an engine's error with is_error, status error and the trace (case 209)", async () => {
    await using h = await scriptFixture();
    const outcome = await h.runtime.runChain({ code: 'await call("echo", { to: "x" }); throw new Error("boom");' });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
    expect(resultOf(outcome)).toMatchObject({ status: "error", error: expect.stringContaining("boom") });
    expect(resultOf(outcome)["call_trace"]).toHaveLength(1);
    expect(outcome.text).toContain("It had called: echo ok.");
  });

  it("answers an engine's exception with an error; no session or pin is left (case 212)", async () => {
    await using h = await scriptFixture(
      {},
      fakeDriver({
        step: () => {
          throw new Error("wire torn");
        },
      }),
    );
    const outcome = await h.runtime.runChain({ code: "return 1;" });
    expect(resultOf(outcome)).toMatchObject({ status: "error", error_kind: "crash", error: "wire torn" });
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  it("raises a permission exception in the script for a high tool without approval (case 214)", async () => {
    await using h = await scriptFixture({ approvals: { patience: "deny" } });
    const code = 'try { await call("mail", { to: "x" }); } catch (error) { return error.code; }';
    const outcome = await h.runtime.runChain({ code }, asker);
    expect(resultOf(outcome)).toMatchObject({ output_text: "approval_unavailable" });
    expect(resultOf(outcome)["call_trace"]).toMatchObject([{ tool: "mail", status: "denied" }]);
    expect(h.ran).toEqual([]);
  });

  it("raises an exception that lists the tools for an unknown one (case 215)", async () => {
    await using h = await scriptFixture();
    const code = 'try { await call("ehco", {}); } catch (error) { return error.message; }';
    expect(resultOf(await h.runtime.runChain({ code }))["output_text"]).toMatch(/ehco.*There are: drop, echo, mail/);
  });

  it("lists two records with statuses if a script crashes after the second of three tools (case 217)", async () => {
    await using h = await scriptFixture();
    const code =
      'await call("echo", { to: "1" }); await call("echo", { to: "2" }); null.x; await call("echo", { to: "3" });';
    expect(resultOf(await h.runtime.runChain({ code }))["call_trace"]).toMatchObject([
      { tool: "echo", status: "ok" },
      { tool: "echo", status: "ok" },
    ]);
  });

  it.each([49, 50, 51, 60])(
    "lets a script of %i parallel calls have 50, and it may catch the rest (case 218)",
    async (count) => {
      await using h = await scriptFixture();
      const code = `const all = await Promise.allSettled(Array.from({ length: ${count} }, (_, n) => call("echo", { to: String(n) })));
      return all.filter((one) => one.status === "fulfilled").length + "/" + all.filter((one) => one.reason?.code === "budget_exhausted").length;`;
      const outcome = await h.runtime.runChain({ code });
      expect(outcome.text).toContain(`${Math.min(50, count)}/${Math.max(0, count - 50)}`);
      expect(h.ran).toHaveLength(Math.min(50, count));
    },
  );

  it("ends a script that swallows every exception to continue after its budget", async () => {
    await using h = await scriptFixture();
    const code = 'for (;;) try { await call("echo", { to: "x" }); } catch {}';
    const outcome = await h.runtime.runChain({ code });
    expect(outcome.status).toBe("error");
    expect(outcome.text).toContain("went on calling after its budget");
    expect(h.ran).toHaveLength(50);
  });

  it("ends a script past its total time as timeout with its trace, and kills its engine (cases 219, 213)", async () => {
    await using h = await scriptFixture();
    const code = 'await call("echo", { to: "x" }); await new Promise(() => {});';
    const running = h.runtime.runChain({ code, timeout: 9999 }, asker);
    await expect.poll(async () => (await h.runtime.calls.list({ state: "ok" })).length).toBe(1);
    await h.clock.advance(299_000);
    expect(await h.runtime.chains?.list()).toMatchObject([{ state: "running" }]);
    await h.clock.advance(2_000);
    const outcome = await running;
    expect(resultOf(outcome)).toMatchObject({ status: "timeout", call_trace: [{ tool: "echo", status: "ok" }] });
    expect(await h.runtime.chains?.list()).toEqual([]);
  });

  it("has a call that was cut short with its script in the trace", async () => {
    await using h = await scriptFixture();
    const running = h.runtime.runChain({ code: 'await call("echo", { to: "x", slow: true });', timeout: 5 }, asker);
    await settled(60);
    await h.clock.advance(6_000);
    const outcome = await running;
    expect(resultOf(outcome)).toMatchObject({ status: "timeout" });
    expect(resultOf(outcome)["call_trace"]).toMatchObject([{ tool: "echo" }]);
  });

  it("is not callable from a script, nor are hosted tools", async () => {
    await using h = await scriptFixture();
    h.runtime.tools.register({ name: "web", description: "Search.", providerSpecs: { openai: {} } });
    const code = `const codes = [];
      for (const tool of ["tool_chain", "web"]) try { await call(tool, { code: "1" }); } catch (error) { codes.push(error.code); }
      return codes.join();`;
    expect(resultOf(await h.runtime.runChain({ code }))["output_text"]).toBe("tool_not_callable,tool_not_callable");
  });

  it("makes calls that belong to its run, its caller and itself", async () => {
    await using h = await scriptFixture({ autonomy: "A4" });
    const scopes = ["mail:write"];
    const outcome = await h.runtime.runChain(
      { code: 'await call("echo", { to: "x" }); return 1;' },
      { ...asker, runId: "run_9", scopes, autonomy: "A3" },
    );
    expect(resultOf(outcome)["call_trace"]).toMatchObject([{ tool: "echo", status: "ok" }]);
    const [child] = await h.runtime.calls.list({ tool: "echo" });
    expect(child?.call.parentId).toBe(outcome.callId);
    expect(child?.call.authority).toMatchObject({ runId: "run_9", scopes, autonomy: "A3", fromChain: true });
  });

  it("refuses options that cannot work", async () => {
    await expect(runtimeFixture({ chains: { engines: ["rubber"] } })).rejects.toThrow(RuntimeFault);
    await expect(runtimeFixture({ chains: { cpuMs: -1 } })).rejects.toThrow(/cpuMs/);
  });
});
