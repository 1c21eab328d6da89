import { expect, it } from "vitest";
import { FakeClock, settled } from "../../../../../core/src/testing/clock.ts";
import type { ServerConfig } from "../server-config.ts";
import type { UpstreamCall } from "../upstream.ts";
import { CallLimits } from "./call-limits.ts";

interface Scene {
  readonly clock: FakeClock;
  readonly started: string[];
  /** Ends the oldest running call. */
  readonly end: () => Promise<void>;
  readonly call: (caller: string, signal?: AbortSignal) => Promise<string>;
}

function scene(limits: ServerConfig["limits"]): Scene {
  const clock = new FakeClock();
  const one = new CallLimits("files", limits, clock);
  const started: string[] = [];
  const running: (() => void)[] = [];
  const call = (caller: string, signal = new AbortController().signal): Promise<string> => {
    const context: UpstreamCall = { caller: () => caller, signal, idempotencyKey: "k", onProgress: () => undefined };
    return one.run("read", context, async () => {
      started.push(caller);
      await new Promise<void>((resolve) => void running.push(resolve));
      return caller;
    });
  };
  const end = async (): Promise<void> => {
    running.shift()?.();
    await settled();
  };
  return { clock, started, end, call };
}

it("runs as many calls at a time as the operator allows, and callers take turns", async () => {
  const { started, end, call } = scene({ concurrent: 2 });
  const calls = ["busy", "busy", "busy", "busy", "busy", "other"].map((caller) => call(caller));
  await settled();
  expect(started).toEqual(["busy", "busy"]);
  await end();
  await end();
  expect(started).toEqual(["busy", "busy", "busy", "other"]);
  for (const _ of calls) await end();
  expect(await Promise.all(calls)).toEqual(["busy", "busy", "busy", "busy", "busy", "other"]);
});

it("refuses a call whose turn does not come, or that is cancelled; it was not run", async () => {
  const { clock, started, end, call } = scene({ concurrent: 1 });
  const first = call("a");
  const cancel = new AbortController();
  const late = expect(call("a")).rejects.toMatchObject({ notExecuted: true, message: /within 10 s/ });
  const cancelled = expect(call("b", cancel.signal)).rejects.toMatchObject({ notExecuted: true });
  const ended = expect(call("c", AbortSignal.abort())).rejects.toMatchObject({ notExecuted: true });
  cancel.abort();
  await clock.advance(10_000);
  await Promise.all([late, cancelled, ended]);
  await end();
  expect(await first).toBe("a");
  expect(started).toEqual(["a"]);
  const next = call("d");
  await end();
  expect(await next).toBe("d");
  expect(clock.waiting).toBe(0);
});

it("refuses calls above the number of a minute, with the time of the next one", async () => {
  const { clock, end, call } = scene({ perMinute: 2 });
  const calls = [call("a")];
  await clock.advance(20_000);
  calls.push(call("a"));
  const resetsAt = clock.now() + 40_000;
  await expect(call("a")).rejects.toMatchObject({ notExecuted: true, rateLimitResetsAt: resetsAt });
  await clock.advance(40_000);
  calls.push(call("a"));
  for (const _ of calls) await end();
  expect(await Promise.all(calls)).toEqual(["a", "a", "a"]);
});

it("counts a call of a minute when it begins, not when it began to wait", async () => {
  const { clock, started, end, call } = scene({ concurrent: 1, perMinute: 2 });
  const calls = [call("a"), call("b")];
  await clock.advance(9_000);
  await end();
  await end();
  await clock.advance(52_000); // the first start is over, the second is not
  calls.push(call("c"));
  await end();
  await expect(call("d")).rejects.toMatchObject({ rateLimitResetsAt: clock.now() + 8_000 });
  await Promise.all(calls);
  expect(started).toEqual(["a", "b", "c"]);
});
