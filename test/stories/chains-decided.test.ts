/** Tools in scripts that run at their decision, or ask a person themselves. */
import { expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import type { ToolContext } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";

const chains = { drivers: [fakeDriver()], engines: ["fake"] };
const yes = { decision: "approved", by: boss } as const;

it("a script that calls a tool which runs at its decision continues with it, and waits for the next person", async () => {
  const pushed: string[] = [];
  const push = {
    ...({ name: "push", description: "Runs at its decision.", risk: "high", effects: "write" } as const),
    idempotent: false,
    detached: true,
    execute: () => void pushed.push("pushed"),
  };
  await using h = await runtimeFixture({ chains }, [push]);
  const code = 'await call("push", {}); await call("mail", { to: "m" }); return "both";';
  const script = await h.runtime.runChain({ code }, asker);
  await h.runtime.approvals.decide(script.approvalId ?? "", yes);
  await settled(200);
  expect(pushed).toEqual(["pushed"]);
  const [waiting] = (await h.runtime.chains?.list()) ?? [];
  expect(waiting).toMatchObject({ callId: script.callId, state: "waiting", waiting: [{ tool: "mail" }] });
  await h.runtime.approvals.decide(waiting?.waiting[0]?.approvalId ?? "", yes);
  expect(resultOf(await h.runtime.chains?.resume(script.callId))).toMatchObject({ output_text: "both", tool_calls: 2 });
  expect([pushed, h.ran]).toEqual([["pushed"], [{ to: "m" }]]);
});

it("a tool that a script called asks a person, and resume runs the approved call once", async () => {
  const outer = {
    ...({ name: "outer", description: "Calls mail.", risk: "safe", effects: "write" } as const),
    idempotent: false,
    execute: async (_: unknown, { call }: ToolContext) =>
      (await call({ tool: "mail", arguments: { to: "inner" } })).status,
  };
  await using h = await runtimeFixture({ chains }, [outer]);
  const script = await h.runtime.runChain({ code: 'return (await call("outer", {})).text;' }, asker);
  expect(resultOf(script)).toMatchObject({ output_text: "pending" });
  const [approval] = await h.runtime.approvals.list({ state: "pending" });
  await h.runtime.approvals.decide(approval?.id ?? "", yes);
  for (const replayed of [false, true]) {
    const resumed = await h.runtime.resume(approval?.id ?? "");
    expect(resumed).toMatchObject({ status: "ok", text: "to inner" });
    expect(resumed?.replayed === true).toBe(replayed);
  }
  expect(h.ran).toEqual([{ to: "inner" }]);
});
