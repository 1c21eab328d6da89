/** What a script requests beyond its budget has no effect on other calls. */
import { describe, expect, it, vi } from "vitest";
import { fakeDriver } from "../../fakes/fake-sandbox.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../../fakes/script-fixture.ts";

describe("pieces that a script joins to one artifact", () => {
  const tried = `const codes = [];
    const put = async (given) => { try { return (await host("artifact", given)).ref; } catch (error) { codes.push(error.code); } };`;

  it("never give more than the script has put, whichever pieces it names and however often", async () => {
    await using h = await scriptFixture();
    const kept = vi.spyOn(h.runtime.artifacts, "put");
    const opened = vi.spyOn(h.runtime.artifacts, "open");
    const code = `${tried}
      const piece = await put({ text: "x".repeat(1_000), piece: true });
      await put({ pieces: [piece, piece] });
      const whole = await put({ pieces: [piece] });
      await Promise.all(Array.from({ length: 20 }, () => put({ pieces: [piece] })));
      await put({ pieces: [whole] });
      return whole + " " + codes.join();`;
    const { output_text } = resultOf(await h.runtime.runChain({ code }, asker));
    expect(output_text).toMatch(new RegExp(`^[0-9a-f]{64} ${Array(22).fill("budget_exhausted").join()}$`));
    expect(kept).toHaveBeenCalledTimes(2);
    expect(opened).toHaveBeenCalledTimes(1);
  });

  it("may be equal", async () => {
    await using h = await scriptFixture();
    const code = `${tried}
      const pieces = [];
      for (let n = 0; n < 3; n += 1) pieces.push(await put({ text: "same ", piece: true }));
      return put({ pieces });`;
    const { output_text } = resultOf(await h.runtime.runChain({ code }, asker));
    const { bytes } = await h.runtime.artifacts.open(String(output_text), asker.principal);
    expect(Buffer.from(bytes).toString()).toBe("same same same ");
  });

  it("stay within that limit after the script waited for a person", async () => {
    await using h = await scriptFixture();
    const code = `${tried}
      const piece = await put({ text: "x".repeat(1_000), piece: true });
      await put({ pieces: [piece] });
      await call("mail", { to: "m" });
      await put({ pieces: [piece] });
      return codes.join();`;
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "boss", via: "console" } });
    expect(resultOf(await h.runtime.runChain({ code }, asker))["output_text"]).toBe("budget_exhausted");
  });
});

describe("a script that keeps calling after its budget", () => {
  const driver = fakeDriver();
  const flood = (among: string): string => `for (;;)
    await Promise.all([${among} ...Array.from({ length: 400 }, () => call("echo", { to: "x" }).catch(() => {}))]);`;

  it.each([
    ["with nothing else", ""],
    ["with a host request in each batch", 'host("help", { tool: "echo" }),'],
  ])("%s is ended after about a thousand calls", async (_how, among) => {
    await using h = await runtimeFixture({ chains: { drivers: [driver], engines: ["fake"] } });
    const ended = resultOf(await h.runtime.runChain({ code: flood(among) }, asker));
    expect(ended).toMatchObject({ status: "error", error_kind: "budget" });
    expect(ended["tool_calls"]).toBeLessThan(1_400);
  });

  it("one call at a time is ended as soon, whatever else it asks the host", async () => {
    await using h = await scriptFixture();
    const code = `for (;;) { await call("echo", { to: "x" }).catch(() => {}); await host("progress", { text: "x" }); }`;
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "budget", tool_calls: 54 });
  });

  it("that keeps asking the host is ended too", async () => {
    await using h = await scriptFixture();
    const code = `for (;;) await Promise.all(Array.from({ length: 500 }, () => host("help").catch(() => {})));`;
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "budget", tool_calls: 0 });
  });
});
