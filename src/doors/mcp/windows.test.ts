import { expect, it } from "vitest";
import { FakeClock, settled } from "../../../test/fakes/clock.ts";
import { directLimits, type Limits } from "../../calls/session.ts";
import type { Runtime, RuntimeSession } from "../../face.ts";
import type { McpCaller } from "./visit.ts";
import { Windows } from "./windows.ts";

const ada: McpCaller = { principal: { tenant: "t", agent: "ada" }, scopes: ["a", "b"] };

function scene(limits: Limits = directLimits) {
  const clock = new FakeClock();
  const opened: unknown[] = [];
  const closed: number[] = [];
  const part: Pick<Runtime, "openSession"> = {
    openSession: (_limits, context) => {
      const number = opened.push(context);
      const session: Pick<RuntimeSession, "limits" | "runId" | "close"> = {
        limits,
        runId: `run-${number}`,
        close: async () => void closed.push(number),
      };
      return session as RuntimeSession; // windows use no more of it
    },
  };
  const windows = new Windows(part as Runtime, clock); // nor of the runtime
  const use = (client = "", caller = ada) => windows.use(client, caller, async ({ runId }) => runId);
  return { clock, windows, opened, closed, use };
}

it("calls of one caller come out of one budget, those of another client or with other rights do not", async () => {
  const { use, opened } = scene();
  expect([await use(), await use(), await use("", { ...ada, scopes: ["b", "a"] })]).toEqual([
    "run-1",
    "run-1",
    "run-1",
  ]);
  expect([
    await use("session"),
    await use("", { ...ada, scopes: ["a"] }),
    await use("", { ...ada, autonomy: "A1" }),
  ]).toEqual(["run-2", "run-3", "run-4"]);
  expect(opened[3]).toEqual({ principal: ada.principal, scopes: ada.scopes, autonomy: "A1" });
});

it("a client that stays for days gets a new window before its total time ends a call early", async () => {
  const { use, clock, closed } = scene();
  await use();
  await clock.advance(directLimits.totalTimeoutMs - directLimits.callTimeoutMs - directLimits.approvalWaitMs);
  expect(await use()).toBe("run-1");
  await clock.advance(1);
  expect(await use()).toBe("run-2");
  expect(closed).toEqual([1]);
});

it("a window that ends while a call is in it is closed after that call", async () => {
  const { windows, use, clock, closed } = scene();
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = windows.use("", ada, () => promise);
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
