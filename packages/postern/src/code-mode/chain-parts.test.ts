import { noOpaqueFields, RuntimeFault, toCamelCase } from "@postern/core";
import { describe, expect, it } from "vitest";
import { fakeDriver } from "../../../../test/fakes/fake-sandbox.ts";
import { asker, boss, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { defineTool } from "../tools/define.ts";
import { chainOptionsFrom, chainsSchema } from "./chains-config.ts";

const fake = { drivers: [fakeDriver()], engines: ["fake"] };

describe("the description of tool_chain", () => {
  it("says how to search where there are many tools", async () => {
    const many = Array.from({ length: 300 }, (_, n) =>
      defineTool({
        name: `tool_with_a_long_name_${n}`,
        description: "One of many.",
        risk: "safe",
        idempotent: true,
        input: { type: "object", properties: { first_argument: { type: "string" } } },
        execute: () => "",
      }),
    );
    await using h = await runtimeFixture({ chains: fake }, many);
    const chain = h.runtime.offered().find(({ tool }) => tool === "tool_chain");
    expect(chain?.description).toMatch(/^Runs one script/);
    expect(chain?.description).toContain("303 tools: tools.drop");
    expect(chain?.description).toContain('help("words")');
    expect(chain?.description.length).toBeLessThan(5000);
  });

  it("shows a caller only tools it may see", async () => {
    const policy = { rules: [{ effect: "deny", tool: "mail" }] } as const;
    await using h = await runtimeFixture({ chains: fake, policy });
    const chain = h.runtime.offered(asker.principal).find(({ tool }) => tool === "tool_chain");
    expect(chain?.description).toContain("tools.echo");
    expect(chain?.description).not.toContain("tools.mail");
  });

  it("is not bound to approvals", async () => {
    await using h = await runtimeFixture({
      chains: fake,
      policy: { rules: [{ effect: "confirm", tool: "tool_chain" }] },
    });
    const asked = await h.runtime.runChain({ code: "return 1;" }, asker);
    expect(asked.status).toBe("pending");
    h.runtime.tools.register(
      defineTool({ name: "late", description: "New.", risk: "safe", idempotent: true, execute: () => "" }),
    );
    await h.runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: boss });
    expect((await h.runtime.runChain({ code: "return 1;" }, asker)).status).toBe("ok");
  });
});

describe("help inside a script", () => {
  it("finds by name and by words, and says when nothing fits", async () => {
    await using h = await runtimeFixture({ chains: fake });
    const ask = async (tool: string): Promise<string> => {
      const code = `return (await host("help", { tool: ${JSON.stringify(tool)} })).text;`;
      return (await h.runtime.runChain({ code, language: "javascript" })).text;
    };
    expect(await ask("echo")).toContain("Says it back.");
    expect(await ask("sends a")).toContain("tools.mail(args");
    expect(await ask("")).toContain("There are: tools.drop, tools.echo, tools.mail.");
    expect(await ask("nothing like it")).toContain("Nothing fits");
  });

  it("limits files, help and progress", async () => {
    await using h = await runtimeFixture({ chains: fake });
    const code = `let n = 0; try { for (;;) { await host("progress", { message: "x" }); n += 1; } } catch (error) { return error.code + n; }`;
    expect((await h.runtime.runChain({ code, language: "javascript" })).text).toContain("budget_exhausted1000");
    const big = `const text = "x".repeat(4 * 1024 * 1024); let n = 0;
      try { for (;;) { await host("artifact", { text, type: "text/plain" }); n += 1; } } catch (error) { return error.code + n; }`;
    expect((await h.runtime.runChain({ code: big, language: "javascript" })).text).toContain("budget_exhausted16");
    for (const given of ["{ text: 5 }", "{}", "{ text: 'x', type: 'no type' }"])
      expect(
        (
          await h.runtime.runChain({
            code: `try { await host("artifact", ${given}); } catch (error) { return error.code; }`,
            language: "javascript",
          })
        ).text,
      ).toContain("arguments_invalid");
  });
});

describe("untrusted frames of an engine", () => {
  it.each([
    [
      "a place that was answered already",
      [
        { place: 0, tool: "echo", arguments: { to: "x" } },
        { place: 0, tool: "echo", arguments: { to: "y" } },
      ],
    ],
    ["a place that is none", [{ place: -1, tool: "echo", arguments: {} }]],
    ["no calls at all", []],
    ["a flood", Array.from({ length: 1001 }, (_, place) => ({ place, tool: "echo", arguments: { to: "x" } }))],
  ])("%s ends the script, and nothing is run", async (_what, calls) => {
    const forging = fakeDriver({ step: () => ({ step: "calls", calls }) });
    await using h = await runtimeFixture({ chains: { drivers: [forging], engines: ["fake"] } });
    const outcome = await h.runtime.runChain({ code: "return 1;" });
    expect(outcome.status).toBe("error");
    expect(h.ran).toEqual([]);
  });

  it("treats names of prototypes as unknown tools", async () => {
    const calls = ["__proto__", "constructor", "toString"].map((tool, place) => ({ place, tool, arguments: {} }));
    let turn = 0;
    const forging = fakeDriver({
      step: (step) => (turn++ === 0 ? { step: "calls", calls } : step),
    });
    await using h = await runtimeFixture({ chains: { drivers: [forging], engines: ["fake"] } });
    const { structured } = await h.runtime.runChain({ code: "return 1;" });
    const { call_trace } = structured as { readonly call_trace: readonly { readonly code: string }[] }; // a ChainRunResult
    expect(call_trace.map(({ code }) => code)).toEqual(["tool_unknown", "tool_unknown", "tool_unknown"]);
  });
});

describe("configuration", () => {
  it("is read, and false means off", () => {
    const file = chainsSchema.parse({ engines: ["quickjs"], limits: { max_tool_calls: 5 }, cpu_ms: 100 });
    expect(chainOptionsFrom(toCamelCase(file, noOpaqueFields))).toEqual({
      engines: ["quickjs"],
      limits: { maxToolCalls: 5 },
      cpuMs: 100,
    });
    expect(chainOptionsFrom({})).toEqual({});
    expect(chainOptionsFrom({ enabled: false })).toBeUndefined();
    expect(chainsSchema.safeParse({ engine: "x" }).success).toBe(false);
  });

  it("a script gets its own limits within those of its caller", async () => {
    await using h = await runtimeFixture({
      chains: { ...fake, limits: { maxToolCalls: 2 } },
      limits: { maxToolCalls: 9 },
    });
    const code = `let n = 0; try { for (;;) { await call("echo", { to: "x" }); n += 1; } } catch { return "made " + n; }`;
    expect((await h.runtime.runChain({ code, language: "javascript" })).text).toContain("made 2");
    await using session = h.runtime.openSession({ maxToolCalls: 1 });
    const inner = await session.invoke({ tool: "tool_chain", arguments: { code, language: "javascript" } });
    expect(inner.text).toContain("made 1");
  });

  it("refuses an unknown option", async () => {
    await expect(runtimeFixture({ chains: { engine: "fake" } as never })).rejects.toThrow(RuntimeFault);
  });
});
