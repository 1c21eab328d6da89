import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { LiveScripts, ScriptWatch } from "./live-scripts.ts";

const chainId = `chain_${"0".repeat(32)}`;
const script = { chainId, callId: "call_1" };
const watch = (): ScriptWatch => new ScriptWatch(new FakeClock(), 1000, new AbortController().signal);

it("registers and removes a script, and ignores an unknown id (case 207)", () => {
  const live = new LiveScripts();
  live.register(script, watch());
  expect(live.all).toEqual([script]);
  live.deregister(chainId);
  expect(live.all).toEqual([]);
  expect(() => live.deregister("chain_unknown")).not.toThrow();
});

it("refuses a wrong id, and an id that runs already (case 231)", () => {
  const live = new LiveScripts();
  for (const id of ["", "../../etc", "chain_1"])
    expect(() => live.register({ ...script, chainId: id }, watch())).toThrow(/is no script's id/);
  live.register(script, watch());
  expect(() => live.register(script, watch())).toThrow(/runs already/);
});

it("stops every script when it closes, and begins no other (case 206)", () => {
  const live = new LiveScripts();
  const running = watch();
  live.register(script, running);
  live[Symbol.dispose]();
  expect(running.stopped).toBe("closed");
  expect(running.signal.aborted).toBe(true);
  const late = watch();
  live.register({ ...script, chainId: `chain_${"1".repeat(32)}` }, late);
  expect(late.stopped).toBe("closed");
});
