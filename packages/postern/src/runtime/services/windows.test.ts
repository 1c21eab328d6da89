import { expect, it } from "vitest";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import { directLimits, type Limits } from "../../call/session.ts";
import type { CallContext, Runtime, RuntimeSession } from "../api/api.ts";
import { Windows } from "./windows.ts";

const ada: CallContext = { principal: { tenant: "t", agent: "ada" }, scopes: ["a"] };

function scene(limits: Limits = directLimits) {
  const clock = new FakeClock();
  const opened: unknown[] = [];
  const closed: number[] = [];
  const controls = { state: { autonomy: "A2" } };
  const part = {
    controls,
    openSession: (_limits: Limits, context: CallContext) => {
      const number = opened.push(context);
      const session: Pick<RuntimeSession, "limits" | "runId" | "close"> = {
        limits,
        runId: `run-${number}`,
        close: async () => void closed.push(number),
      };
      return session;
    },
  };
  const windows = new Windows(part as unknown as Runtime, clock); // windows use no more of a runtime, nor of a session
  const use = (whose = "ada") => windows.use(whose, ada, async ({ runId }) => runId);
  return { clock, windows, opened, closed, controls, use };
}

it("calls of one budget are one session's, those of another are not", async () => {
  const { use, opened } = scene();
  expect([await use(), await use(), await use("bob"), await use()]).toEqual(["run-1", "run-1", "run-2", "run-1"]);
  expect(opened).toEqual([ada, ada]);
});

it("a level that an operator sets holds from the next call on", async () => {
  const { use, controls } = scene();
  await use();
  controls.state = { autonomy: "A3" };
  expect(await use()).toBe("run-2");
});

it("a client that stays for days gets a new window before its total time ends a call early", async () => {
  const { use, clock, closed } = scene();
  for (let ms = 0; ms <= directLimits.totalTimeoutMs - 900_000; ms += 300_000) {
    expect(await use()).toBe("run-1");
    await clock.advance(300_000);
  }
  expect(await use()).toBe("run-2");
  expect(closed).toEqual([1]);
});

it("a window that ends while a call is in it is closed after that call", async () => {
  const { windows, use, clock, closed } = scene();
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = windows.use("ada", ada, () => promise);
  await clock.advance(directLimits.totalTimeoutMs);
  expect(await use()).toBe("run-2");
  expect(closed).toEqual([]);
  resolve();
  await call;
  expect(closed).toEqual([1]);
  await windows.close();
  await settled();
  expect(closed).toEqual([1, 2]);
});

it("closes a window that is unused for 15 minutes, also without other calls", async () => {
  const { use, clock, closed, windows } = scene();
  await use();
  await clock.advance(2 * 900_000);
  expect(closed).toEqual([1]);
  expect(clock.waiting).toBe(0);
  expect(await use()).toBe("run-2");
  await windows.close();
  expect(clock.waiting).toBe(0);
});

it("of more than a thousand the least recently used go, and none with a call in it", async () => {
  const { windows, use, closed } = scene();
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = windows.use("busy", ada, () => promise);
  for (let i = 0; i < 999; i += 1) await use(`run ${i}`);
  await use("run 0");
  await use("one more");
  expect(closed).toEqual([3]);
  expect(await use("run 0")).toBe("run-2");
  resolve();
  await call;
});
