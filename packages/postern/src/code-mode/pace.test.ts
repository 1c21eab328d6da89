/** What is left of the loop to others while a script calls: counted in turns, not in time. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakeDriver } from "../../../../test/fakes/fake-sandbox.ts";
import { createRuntime } from "../index.ts";
import { defineTool } from "../tools/define.ts";
import { CallPace } from "./pace.ts";

/** The turn of the loop in which each call of a script ran; somebody else has one of each. */
async function turnsOf(
  code: string,
  execute: () => void,
  { work = () => {}, engine = "fake" }: { readonly work?: () => void; readonly engine?: string } = {},
): Promise<readonly number[]> {
  let turns = 0;
  let isOver = false;
  const others = (): void => {
    turns += 1;
    work();
    if (!isOver) setImmediate(others);
  };
  const seen: number[] = [];
  const echo = defineTool({
    ...{ name: "echo", description: "Says it back.", risk: "safe", effects: "read", idempotent: true },
    execute: () => {
      seen.push(turns);
      execute();
      return "ok";
    },
  });
  const chains = { drivers: [fakeDriver()], engines: [engine], limits: { maxToolCalls: 200 } };
  await using runtime = await createRuntime({ tools: [echo], chains });
  setImmediate(others);
  expect(await runtime.runChain({ code, language: "javascript" })).toMatchObject({ status: "ok" });
  isOver = true;
  return seen;
}

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe("the pace of a script", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate"] }));
  afterEach(() => void vi.useRealTimers());

  it("gives others a turn of the loop after each slice", async () => {
    let ms = 0;
    const pace = new CallPace({ monotonic: () => ms });
    const turn = async (): Promise<void> => {
      const pause = pace.next();
      expect(pause).toBeDefined();
      await vi.advanceTimersByTimeAsync(0);
      await pause;
    };
    await turn();
    expect(pace.next()).toBeUndefined();
    ms += 0.6;
    await turn();
    expect(pace.next()).toBeUndefined();
  });
});

describe("a script that calls", () => {
  it("a hundred times at once takes at most one batch of a turn", async () => {
    const code = 'await Promise.all(Array.from({ length: 100 }, () => call("echo")));';
    const turns = await turnsOf(code, () => busy(0.3));
    const sizes = [...Map.groupBy(turns, (turn) => turn).values()].map(({ length }) => length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(16);
  });

  it("many times at once keeps its order", async () => {
    const order: number[] = [];
    const note = defineTool({
      ...{ name: "note", description: "Notes.", risk: "safe", effects: "read", idempotent: true },
      input: { type: "object", properties: { n: { type: "number" } } },
      execute: (given) => {
        order.push((given as { readonly n: number }).n); // the script says so
        busy(0.1);
        return "ok";
      },
    });
    const chains = { drivers: [fakeDriver()], engines: ["fake"], limits: { maxToolCalls: 200 } };
    await using runtime = await createRuntime({ tools: [note], chains });
    const { status } = await runtime.runChain({
      code: 'await Promise.all(Array.from({ length: 200 }, (_, n) => call("note", { n })));',
      language: "javascript",
    });
    expect(status).toBe("ok");
    expect(order).toEqual(Array.from({ length: 200 }, (_, n) => n));
  });
});
