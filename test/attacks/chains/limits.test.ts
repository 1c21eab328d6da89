/** The limits of operators and callers hold in scripts as outside, and each limit of a script holds. */
import { describe, expect, it, vi } from "vitest";
import type { Risk } from "../../../packages/core/src/call.ts";
import type { SandboxDriver, SandboxLimits, SandboxSession } from "../../../packages/core/src/sandbox/sandbox.ts";
import { settled } from "../../../packages/core/src/testing/clock.ts";
import { Session } from "../../../packages/postern/src/call/session.ts";
import { countHolds } from "../../fakes/artifact-holds.ts";
import { fakeDriver } from "../../fakes/fake-sandbox.ts";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../../fakes/script-fixture.ts";

const fake = { drivers: [fakeDriver()], engines: ["fake"] };
const safe = { risk: "safe", effects: "read", idempotent: true } as const;
const input = { type: "object", properties: { to: { type: "string" } } } as const;

describe("the risk up to which a script's calls run without asking", () => {
  const tried = `const ends = [];
    for (const tool of ["echo", "edit", "mail", "drop"]) try { await call(tool, { to: "x" }); ends.push(tool); } catch {}
    return ends.join();`;
  const rows: readonly (readonly [string, Risk | undefined, Risk | undefined, string])[] = [
    ["is safe by default", undefined, undefined, "echo"],
    ["stays safe under a higher ceiling of the caller", undefined, "high", "echo"],
    ["is never more than that of direct calls, which is safe by default", "medium", undefined, "echo"],
    ["is what the configuration of scripts says", "medium", "high", "echo,edit"],
    ["is what the configuration of scripts says, within the caller's limit", "high", "medium", "echo,edit"],
    ["is the caller's limit if that is lower", "high", "safe", "echo"],
  ];

  it.each(rows)("%s", async (_what, forScripts, ofCaller, expected) => {
    const limits = forScripts && { limits: { maxRiskUnapproved: forScripts } };
    const options = {
      approvals: { patience: "deny" },
      chains: { ...fake, ...limits },
      ...(ofCaller && { limits: { maxRiskUnapproved: ofCaller } }),
    } as const;
    await using h = await runtimeFixture(options, [
      {
        ...safe,
        risk: "medium",
        effects: "write",
        name: "edit",
        description: "Edits.",
        input,
        execute: () => "edited",
      },
    ]);
    expect(resultOf(await h.runtime.runChain({ code: tried }, asker))["output_text"]).toBe(expected);
  });

  it("is the operator's limit for scripts with an autonomy level too", async () => {
    const options = { autonomy: "A4", approvals: { patience: "deny" } } as const;
    await using h = await runtimeFixture({ ...options, chains: { ...fake, limits: { maxRiskUnapproved: "safe" } } });
    expect(resultOf(await h.runtime.runChain({ code: tried }, asker))["output_text"]).toBe("echo");
  });
});

describe("calls that are made together", () => {
  it.each([
    [undefined, 16],
    [3, 3],
    [100, 40],
  ])("with a bound of %s run %i at a time, started in the order they were made", async (callsAtOnce, most) => {
    const begun: number[] = [];
    let [open, widest] = [0, 0];
    const chains = { ...fake, ...(callsAtOnce !== undefined && { callsAtOnce }) };
    await using h = await runtimeFixture({ chains }, [
      {
        ...safe,
        ...{ name: "hold", description: "Takes its time.", input: { type: "object" } },
        execute: async (given) => {
          begun.push((given as { readonly n: number }).n); // the script says so
          widest = Math.max(widest, ++open);
          await settled(3);
          open -= 1;
          return "held";
        },
      },
    ]);
    const code = 'return (await Promise.all(Array.from({ length: 40 }, (_, n) => call("hold", { n })))).length;';
    expect(resultOf(await h.runtime.runChain({ code }, asker))["output_text"]).toBe("40");
    expect(widest).toBe(most);
    expect(begun).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  it("do not start any more once the script was stopped", async () => {
    let begun = 0;
    await using h = await runtimeFixture({ chains: { ...fake, callsAtOnce: 2 } }, [
      {
        ...safe,
        ...{ name: "hold", description: "Never ends by itself." },
        execute: (_, { signal }) => {
          begun += 1;
          return new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
        },
      },
    ]);
    const code = 'await Promise.allSettled([1, 2, 3, 4, 5].map(() => call("hold")));';
    const running = h.runtime.runChain({ code, timeout: 5 }, asker);
    await settled(60);
    await h.clock.advance(6_000);
    expect(resultOf(await running)).toMatchObject({ status: "timeout", tool_calls: 2 });
    expect(begun).toBe(2);
  });
});

it("end with the script's session closed, however the script ended", async () => {
  const close = vi.spyOn(Session.prototype, "close");
  await using h = await scriptFixture();
  for (const code of ["return 1;", 'throw new Error("boom");', 'await call("mail", { to: "x" });']) {
    close.mockClear();
    await h.runtime.runChain({ code }, asker);
    const own = close.mock.contexts.filter((session) => (session as Session).limits.maxToolCalls === 50);
    expect(own.map((session) => (session as Session).closed)).toEqual([true]);
  }
  close.mockRestore();
});

it("do not read an artifact of more than 4 MiB into the script", async () => {
  for (const [bytes, expected] of [
    [4 * 1024 * 1024, "ok"],
    [4 * 1024 * 1024 + 1, "arguments_invalid"],
  ] as const) {
    await using h = await runtimeFixture({ chains: fake }, [
      { ...safe, name: "report", description: "Says much.", execute: () => "m".repeat(bytes) },
    ]);
    const code = `const { ref } = await call("report", {});
      try { return (await host("materialize", { ref })).status; } catch (error) { return error.code; }`;
    expect(resultOf(await h.runtime.runChain({ code }, asker))["output_text"]).toBe(expected);
  }
});

it("hold a frozen script's artifacts again while it runs, and release them when it has ended", async () => {
  await using h = await runtimeFixture({ chains: fake }, [
    { ...safe, name: "report", description: "Says much.", execute: () => "much ".repeat(5_000) },
  ]);
  const held = countHolds(h.runtime);
  const code = 'const r = await call("report", {}); await call("mail", { to: "x" }); await call("hold", {}); return 1;';
  let during = -1;
  h.runtime.tools.register({
    ...{ name: "hold", description: "Looks.", risk: "safe", idempotent: true },
    execute: () => {
      during = held();
      return "seen";
    },
  });
  const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
  expect(held()).toBe(0);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  expect(resultOf(await h.runtime.runChain({ code }, asker))["status"]).toBe("ok");
  expect([during, held()]).toEqual([1, 0]);
});

it("leave what the script's answer returns held by the caller's session, and no longer", async () => {
  await using h = await scriptFixture();
  const held = countHolds(h.runtime);
  const code = 'return { kept: (await host("artifact", { text: "x", type: "text/plain" })).ref };';
  {
    await using session = h.runtime.openSession();
    await session.invoke({ tool: "tool_chain", arguments: { code, language: "javascript" } });
    expect(held()).toBe(1);
  }
  expect(held()).toBe(0);
});

/** An engine that reports 1.5 seconds of processor time for each run of a script. */
function counting(seen: number[], stubborn = false): SandboxDriver {
  const driver = fakeDriver();
  const counted = async (limits: SandboxLimits, session: Promise<SandboxSession>): Promise<SandboxSession> => {
    seen.push(limits.cpuMs);
    return Object.defineProperty(await session, "usedCpuMs", { value: 1_500 });
  };
  return {
    ...driver,
    start: (program, limits) => counted(limits, driver.start(program, limits)),
    restore: (image, limits) =>
      stubborn ? Promise.reject(new Error("no")) : counted(limits, driver.restore(image, limits)),
  };
}

it("keep the processor time used before a person was asked; a script that starts again has all of it", async () => {
  const code = 'for (const to of ["a", "b", "c"]) await call("mail", { to }); return "sent";';
  for (const [stubborn, expected] of [
    [false, [10_000, 8_500, 7_000, 5_500]],
    [true, [10_000, 10_000, 10_000, 10_000]],
  ] as const) {
    const seen: number[] = [];
    await using h = await scriptFixture({}, counting(seen, stubborn));
    for (;;) {
      const { approvalId, text } = await h.runtime.runChain({ code }, asker);
      if (approvalId === undefined) expect(text).toContain("sent");
      if (approvalId === undefined) break;
      await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    }
    expect(seen).toEqual(expected);
  }
});
