import { expect, it, vi } from "vitest";
import { FakeClock, settled } from "../../../core/src/testing/clock.ts";
import { type LazySignal, type Ran, runForeign } from "./run-foreign.ts";

const clock = (): FakeClock => new FakeClock();

it("a body that answers at once is answered at once: no promise, no timer, no listener", async () => {
  const time = clock();
  const { signal } = new AbortController();
  const listen = vi.spyOn(signal, "addEventListener");
  expect(await runForeign(() => "x", { clock: time, limitMs: 5, signal })).toEqual({
    ran: "returned",
    value: "x",
  });
  expect([time.waiting, listen.mock.calls]).toEqual([0, []]);
});

it("an async body that has nothing to wait for arms nothing either", async () => {
  const time = clock();
  const arm = vi.spyOn(time, "in");
  expect(await runForeign(async () => "x", { clock: time, limitMs: 5 })).toEqual({
    ran: "returned",
    value: "x",
  });
  await settled();
  expect(arm).not.toHaveBeenCalled();
});

it("times out a tool that never resolves, and aborts its signal (case 48)", async () => {
  const time = clock();
  let signal: AbortSignal | undefined;
  const ran = runForeign(
    (lazy) => {
      signal = lazy.signal;
      return new Promise(() => undefined);
    },
    { clock: time, limitMs: 50 },
  );
  await time.advance(49);
  expect(signal?.aborted).toBe(false);
  await time.advance(1);
  expect(await ran).toEqual({ ran: "timed_out" });
  expect([signal?.aborted, signal?.reason, time.waiting]).toEqual([
    true,
    expect.objectContaining({ name: "TimeoutError" }),
    0,
  ]);
});

it("a deadline that is or gets past counts as cancelled (case 51)", async () => {
  const time = clock();
  const body = vi.fn(() => new Promise(() => undefined));
  expect(await runForeign(body, { clock: time, deadline: 0 })).toEqual({ ran: "cancelled" });
  expect(body).not.toHaveBeenCalled();
  const ran = runForeign(body, { clock: time, deadline: 20, limitMs: 50 });
  await time.advance(20);
  expect(await ran).toEqual({ ran: "cancelled" });
});

it("a tool that runs when its caller cancels gets an abort signal with the caller's reason (case 52)", async () => {
  const time = clock();
  const caller = new AbortController();
  let seen: LazySignal | undefined;
  const ran = runForeign(
    (lazy) => {
      seen = lazy;
      return new Promise(() => undefined);
    },
    { clock: time, limitMs: 50, signal: caller.signal },
  );
  await settled();
  caller.abort("enough");
  expect(await ran).toEqual({ ran: "cancelled" });
  expect([seen?.signal.aborted, seen?.signal.reason, time.waiting]).toEqual([true, "enough", 0]);
  expect(() => seen?.check()).toThrow("enough");
});

it("does not start a body that is cancelled before", async () => {
  const body = vi.fn();
  expect(await runForeign(body, { clock: clock(), signal: AbortSignal.abort() })).toEqual({
    ran: "cancelled",
  });
  expect(body).not.toHaveBeenCalled();
});

it("a cancellation in the same turn is not lost", async () => {
  const caller = new AbortController();
  const ran = runForeign(() => new Promise(() => undefined), {
    clock: clock(),
    signal: caller.signal,
  });
  caller.abort();
  expect(await ran).toEqual({ ran: "cancelled" });
});

it("catches errors, null, undefined and rejections (case 47)", async () => {
  const error = new Error("no");
  const fail = (thrown: unknown) => () => {
    throw thrown;
  };
  expect(await runForeign(fail(error), { clock: clock() })).toEqual({ ran: "threw", error });
  expect(await runForeign(fail(null), { clock: clock() })).toEqual({ ran: "threw", error: null });
  expect(await runForeign(() => Promise.reject(undefined), { clock: clock() })).toEqual({
    ran: "threw",
    error: undefined,
  });
});

it("thenables that settle twice, throw in `then` or pretend to be promises are survived", async () => {
  const error = new Error("then");
  const fail = (): never => {
    throw error;
  };
  const name = "then"; // spelled as a value: the linter takes a written `then` for a mistake
  const having = (then: PropertyDescriptor, on: object = {}): object => Object.defineProperty(on, name, then);
  const run = (answer: unknown): Promise<Ran<unknown>> => runForeign(() => answer, { clock: clock() });
  const twice = (yes: (value: unknown) => void, no: (reason: unknown) => void): void => {
    yes(1);
    yes(2);
    no(3);
    fail();
  };
  let reads = 0;
  const onlyOnce = (): unknown => {
    reads += 1;
    return reads > 1 ? fail() : () => undefined;
  };
  expect(await run(having({ value: twice }))).toEqual({ ran: "returned", value: 1 });
  expect(await run(having({ get: fail }))).toEqual({ ran: "threw", error });
  expect(await run(having({ value: fail }))).toEqual({ ran: "threw", error });
  expect(await run(having({ get: onlyOnce }))).toEqual({ ran: "threw", error });
  expect(await run(Object.create(Promise.prototype))).toMatchObject({ ran: "threw" });
  expect(await run(having({ value: fail }, Promise.resolve(1)))).toEqual({
    ran: "threw",
    error,
  });
  expect(await run(having({ value: "no function" }))).toMatchObject({ ran: "returned" });
});

it("passes a late answer to onLate only", async () => {
  const time = clock();
  const late: Ran<string>[] = [];
  let answer: ((value: string) => void) | undefined;
  const body = (): Promise<string> =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const ran = runForeign(body, { clock: time, limitMs: 5, onLate: (end) => late.push(end) });
  await time.advance(5);
  expect(await ran).toEqual({ ran: "timed_out" });
  answer?.("too late");
  await settled();
  expect(late).toEqual([{ ran: "returned", value: "too late" }]);
});

it("nothing stays armed after the body has answered", async () => {
  const time = clock();
  const caller = new AbortController();
  const forget = vi.spyOn(caller.signal, "removeEventListener");
  let lazySignal: LazySignal | undefined;
  const ran = runForeign(
    async (lazy) => {
      lazySignal = lazy;
      await settled();
      return 1;
    },
    { clock: time, limitMs: 5, signal: caller.signal },
  );
  await settled(2);
  expect(time.waiting).toBe(1);
  expect(await ran).toEqual({ ran: "returned", value: 1 });
  expect([time.waiting, forget.mock.calls.length, lazySignal?.aborted]).toEqual([0, 1, false]);
});
