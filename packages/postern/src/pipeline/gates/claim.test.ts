import type { ToolCall } from "@postern/core";
import { expect, it } from "vitest";
import { aCall } from "../../../../../test/fakes/call.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { arrivalOf } from "../../call/arrival.ts";
import { directLimits, Session } from "../../call/session.ts";
import { CurrentPolicy, openPolicySet } from "../../policy/current-policy.ts";
import { MemoryArtifacts } from "../../results/memory-artifacts.ts";
import { invoke } from "../invoke.ts";
import { claim } from "./claim.ts";

it("lets a call enter again as the same call if its past has changed, without what the gates added", async () => {
  const clock = new FakeClock();
  const set = await openPolicySet({}, undefined);
  const parts = {
    clock,
    policy: new CurrentPolicy(set),
    ledger: { claim: async () => ({ claimed: undefined, pastChanged: true }) } as never,
    artifacts: new MemoryArtifacts({ clock, retentionMs: 0 }),
  };
  const caller = { session: new Session(directLimits, clock), patience: "deny" } as const;
  const call = { ...aCall(), batch: new Set(["key_1", "key_2"]) };
  const approved = { ...call, key: "key_1", found: "a tool", judgedBy: set } as never; // only an approved call gets here
  const again = await claim(approved, caller, parts);
  expect(again).toEqual({ again: { ...call, batch: new Set(["key_2"]) } });
  expect(again).toSatisfy(({ again }) => Object.isFrozen(again));
});

it("ends a call as overloaded if its past has changed at each of a thousand tries", async () => {
  const clock = new FakeClock();
  let tries = 0;
  const carryOut = async (call: ToolCall) => {
    tries += 1;
    return { again: arrivalOf({ ...call, resumes: call.id }) };
  };
  const parts = {
    ...{ clock, announce: () => {}, executor: { carryOut } },
    runs: { claims: async () => true },
    controls: { state: {} },
    tools: { find: () => ({ facts: { effects: "read" }, parse: () => ({ input: {} }) }), unavailable: () => undefined },
    redactor: { finds: () => false },
    policy: { now: { policy: { decide: () => ({ verdict: "ALLOW", risk: "safe", reasons: [] }) } } },
    ledger: { find: async () => undefined, note: async () => true },
    repeated: { count: () => false },
  } as never;
  const session = new Session(directLimits, clock);
  const outcome = await invoke(aCall(), { session, patience: "deny" }, parts);
  expect(outcome.refusal?.code).toBe("overloaded");
  expect(tries).toBe(1001);
});
