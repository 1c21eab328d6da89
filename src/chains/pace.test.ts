/** What is left of the loop to others while a script calls: counted in turns, not in time. */
import { describe, expect, it } from "vitest";
import { FakeLoop } from "../../test/fakes/fake-loop.ts";
import { fakeDriver } from "../../test/fakes/fake-sandbox.ts";
import { createRuntime } from "../index.ts";
import { defineTool } from "../tools/define.ts";
import { Pace } from "./pace.ts";

/** Turns of the loop that somebody else had between two calls of a script, for each two. */
async function turnsBetween(...given: Parameters<typeof turnsOf>): Promise<readonly number[]> {
  const turns = await turnsOf(...given);
  return turns.slice(1).map((turn, at) => turn - (turns[at] ?? turn));
}

/** Whatever else the machine does is in a few of them. */
function middle(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0;
}

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
  function among(others: (loop: FakeLoop) => void): { readonly loop: FakeLoop; readonly pace: Pace } {
    const loop = new FakeLoop();
    loop.others(() => others(loop));
    return { loop, pace: new Pace({ monotonic: () => loop.ms }, loop.shares) };
  }

  it("asks for no turn on a loop that sleeps between its calls", () => {
    const { loop, pace } = among(() => {});
    for (let call = 0; call < 50; call++) {
      expect([pace.heard(1), pace.beforeCall(), pace.beforeAnswer()]).toEqual([undefined, undefined, undefined]);
      loop.sleeps(0.05);
    }
  });

  it("says an answer at once where nobody wants the loop, after fifty calls too", async () => {
    const { loop, pace } = among(() => {});
    await loop.until(pace.heard(51));
    const waited: boolean[] = [];
    const calls = async (): Promise<void> => {
      for (let call = 0; call < 4; call++) {
        await pace.beforeCall();
        loop.busy(0.05);
        const turn = pace.beforeAnswer();
        waited.push(turn !== undefined);
        await turn;
        loop.busy(0.05);
      }
    };
    await loop.until(calls());
    expect(waited.slice(1)).toEqual([false, false, false]); // before the first one nobody had looked
  });

  it("takes a millisecond for what was called and one for its answer, on a loop that is busy", async () => {
    const { loop, pace } = among((loop) => loop.busy(0.1));
    await loop.until(pace.heard(1));
    const waited = [];
    for (let call = 0; call < 10; call++)
      waited.push(await loop.until(pace.heard(1)), await loop.until(pace.beforeAnswer()));
    for (const ms of waited) expect(ms).toBeCloseTo(1, 0);
  });

  it("gives way to all else after fifty calls, with the answer of each as well", async () => {
    const { loop, pace } = among((loop) => loop.busy(0.1));
    await loop.until(pace.heard(51));
    const calls = async (): Promise<void> => {
      for (let call = 0; call < 3; call++) {
        await pace.beforeCall();
        loop.busy(0.1);
        await pace.beforeAnswer();
        loop.busy(0.1);
      }
    };
    expect(await loop.until(calls())).toBeGreaterThan(5 * 4); // the share of the last one is over after its end
  });
});

describe("a script that calls", () => {
  it("leaves others a millisecond between two of its calls, where they want it", async () => {
    const code = "for (let i = 0; i < 40; i++) await tools.echo();";
    const between = await turnsBetween(code, () => {}, { work: () => busy(0.1), engine: "quickjs" });
    expect(middle(between)).toBeGreaterThanOrEqual(5);
  });

  it("and goes on calling leaves others far more, after as many calls as most scripts have", async () => {
    const code = 'for (let i = 0; i < 100; i++) await call("echo");';
    const between = await turnsBetween(code, () => busy(0.2), { work: () => busy(0.1) });
    expect(middle(between.slice(51))).toBeGreaterThan(2 * middle(between.slice(0, 48)));
  });

  it("a hundred times at once has no more of a turn than what runs at once", async () => {
    const code = 'await Promise.all(Array.from({ length: 100 }, () => call("echo")));';
    const turns = await turnsOf(code, () => busy(0.3));
    const sizes = [...Map.groupBy(turns, (turn) => turn).values()].map(({ length }) => length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(16);
  });

  it("many times at once in its order, however often others come in between", async () => {
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
