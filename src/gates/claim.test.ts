import { expect, it } from "vitest";
import { aCall } from "../../test/fakes/call.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { directLimits, Session } from "../calls/session.ts";
import { MemoryArtifacts } from "../results/memory-artifacts.ts";
import { claim } from "./claim.ts";

it("lets a call enter again as the same call if its past has moved, without what the gates added", async () => {
  const clock = new FakeClock();
  const parts = {
    clock,
    ledger: { claim: async () => ({ claimed: undefined, moved: true }) } as never,
    artifacts: new MemoryArtifacts({ clock, retentionMs: 0 }),
  };
  const caller = { session: new Session(directLimits, clock), patience: "deny" } as const;
  const call = aCall();
  const approved = { ...call, key: "key_1", found: "a tool" } as never; // only an approved call gets here
  const moved = await claim(approved, caller, parts);
  expect(moved).toEqual({ again: { ...call, resumes: "key_1" } });
  expect(moved).toSatisfy(({ again }) => Object.isFrozen(again));
});
