/** A caller with a credential chooses its run names, so a limit on a run counts all of them. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  defineTool,
  type Principal,
  type Runtime,
  type RuntimeOptions,
} from "../../packages/postern/src/index.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";

const pay = defineTool({
  ...{ name: "pay", description: "Pays.", risk: "safe", effects: "write", idempotent: false },
  input: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});
const web = defineTool({
  ...{ name: "web", description: "Reads a page.", risk: "medium", effects: "write", idempotent: false },
  ...{ openWorld: true, input: z.object({}), execute: () => "a page" },
});

type Policy = NonNullable<RuntimeOptions["policy"]>;
const atMostTwo: Policy = {
  rules: [{ effect: "deny", tool: "pay", history: { within: "run", atMost: 2 } }],
};
const atMostTen: Policy = {
  rules: [{ effect: "deny", tool: "pay", history: { within: "run", sum: { path: "$.amount", atMost: 10 } } }],
};
const runtimeOf = (policy: Policy, more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
  createRuntime({ tools: [pay, web], autonomy: "A3", approvals: { patience: "suspend" }, policy, ...more });

/** Makes calls as an agent over HTTP, each in the run it names. */
async function overHttp(runtime: Runtime, tool: string, amount: number, runs: readonly (string | undefined)[]) {
  await using http = await httpFixture(runtime, { agentScopes: [] });
  const ends: string[] = [];
  for (const run_id of runs) {
    const body = { tool, arguments: tool === "pay" ? { amount } : {}, ...(run_id !== undefined && { run_id }) };
    const answer = await http.ask("/v1/calls", { as: "agent", method: "POST", body });
    ends.push(((await answer.json()) as { status: string }).status);
  }
  return ends;
}

const agent: Principal = { tenant: "default", agent: "agent", via: "token:agent" };

describe("a limit on a run", () => {
  it("counts all runs that an agent names over HTTP, and its run of the day", async () => {
    await using runtime = await runtimeOf(atMostTwo);
    const ends = await overHttp(runtime, "pay", 1, ["a", "b", "c", undefined, "d", "e"]);
    expect(ends).toEqual(["ok", "ok", "denied", "denied", "denied", "denied"]);
  });

  it("sums over all runs that an agent names", async () => {
    await using runtime = await runtimeOf(atMostTen);
    expect(await overHttp(runtime, "pay", 6, ["a", "b", "c"])).toEqual(["ok", "denied", "denied"]);
  });

  it("raises after an open-world result in another run of the agent", async () => {
    await using runtime = await runtimeOf({ taint: "raise" });
    expect(await overHttp(runtime, "web", 0, ["a", "b"])).toEqual(["ok", "pending"]);
  });

  it("counts a run alone if the operator opened it", async () => {
    await using runtime = await runtimeOf(atMostTwo);
    const call = async (runId: string): Promise<string> =>
      (await runtime.invoke({ tool: "pay", arguments: { amount: 1 } }, { runId })).status;
    const ends = [await call("a"), await call("a"), await call("a"), await call("b")];
    expect(ends).toEqual(["ok", "ok", "denied", "ok"]);
  });

  it("counts a run that the operator opened for an agent by itself", async () => {
    await using runtime = await runtimeOf(atMostTwo);
    const { via: _via, ...principal } = agent;
    const call = async (runId: string, who: Principal): Promise<string> =>
      (await runtime.invoke({ tool: "pay", arguments: { amount: 1 } }, { runId, principal: who })).status;
    expect(await call("job", principal)).toBe("ok");
    expect([await call("job", agent), await call("job", agent)]).toEqual(["ok", "denied"]);
    expect([await call("own-1", agent), await call("own-2", agent), await call("own-3", agent)]).toEqual([
      ...["ok", "ok", "denied"],
    ]);
    expect(await call("own-1", principal)).toBe("denied"); // who opened it counts, not who uses it
  });

  it("counts the same after a restart, and in a simulation", async () => {
    const store = `sqlite:${join(ownFolder(), "postern.db")}`;
    const call = async (runtime: Runtime, runId: string): Promise<string> =>
      (await runtime.invoke({ tool: "pay", arguments: { amount: 1 } }, { runId, principal: agent })).status;
    {
      await using runtime = await runtimeOf({}, { store });
      expect([await call(runtime, "a"), await call(runtime, "b")]).toEqual(["ok", "ok"]);
    }
    await using runtime = await runtimeOf(atMostTwo, { store });
    expect(await call(runtime, "c")).toBe("denied");
    const rules = [{ effect: "deny", tool: "pay", history: { within: "run", atMost: 1 } }] as const;
    const { changes } = await runtime.policy.simulate({ rules });
    expect(changes.map(({ runId }) => runId)).toEqual(["b"]);
  });

  it("cannot be avoided with the name of a run of another day", async () => {
    const clock = new FakeClock();
    await using runtime = await runtimeOf(atMostTwo, { clock });
    const call = async (runId?: string): Promise<readonly [string, string]> => {
      const context = { principal: agent, ...(runId !== undefined && { runId }) };
      const { status, callId } = await runtime.invoke({ tool: "pay", arguments: { amount: 1 } }, context);
      return [status, (await runtime.calls.get(callId))?.call.authority.runId ?? ""];
    };
    const [first, today] = await call();
    expect([first, (await call())[0], (await call(today.replace(/_\d{8}_/, "_20990101_")))[0]]).toEqual([
      ...["ok", "ok", "denied"],
    ]);
    await clock.advance(86_400_000);
    expect((await call("tomorrow"))[0]).toBe("ok");
  });
});
