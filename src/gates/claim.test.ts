import { expect, it } from "vitest";
import { aCall } from "../../test/fakes/call.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { anew } from "../calls/arrival.ts";
import type { ToolCall } from "../calls/call.ts";
import { directLimits, Session } from "../calls/session.ts";
import type { Claim } from "../ledger/ledger.ts";
import { MemoryArtifacts } from "../results/memory-artifacts.ts";
import { claim } from "./claim.ts";

it("a call whose past moves at every try is overloaded in the end, and does not try for ever", async () => {
  const clock = new FakeClock();
  const moved: Claim = { claimed: undefined, moved: true };
  const parts = {
    clock,
    ledger: { claim: () => moved } as never,
    artifacts: new MemoryArtifacts({ clock, retentionMs: 0 }),
  };
  const caller = { session: new Session(directLimits, clock), patience: "deny" } as const;
  let call: ToolCall = aCall();
  let tries = 0;
  for (let next = anew(call, call.id); next !== undefined; next = anew(call, call.id)) {
    call = next;
    tries += 1;
    const ended = await claim(Object.assign(call, { key: call.id }) as never, caller, parts); // only an approved call gets here
    if (tries < 1000) expect(ended).toHaveProperty("again");
    else expect(ended).toMatchObject({ ending: "refused", refusal: { code: "overloaded" } });
  }
  expect(tries).toBe(1000);
});
