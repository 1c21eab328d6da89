/** What is left of the loop to others while a script calls: counted in turns, not in time. */
import { describe, expect, it } from "vitest";
import { fakeDriver } from "../../test/fakes/fake-sandbox.ts";
import { createRuntime } from "../index.ts";
import { defineTool } from "../tools/define.ts";

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

describe("a script that calls", () => {
  it("and goes on calling leaves others turns in between, after as many calls as most scripts have", async () => {
    const turns = await turnsOf('for (let i = 0; i < 100; i++) await call("echo");', () => {});
    const between = turns.map((turn, at) => turn - (turns[at - 1] ?? turn));
    const [hurried, later] = [Math.max(...between.slice(1, 50)), Math.min(...between.slice(52))];
    expect(later - hurried).toBeGreaterThanOrEqual(3);
  });

  it("leaves others a millisecond between two of its calls, where they want it", async () => {
    const code = "for (let i = 0; i < 40; i++) await tools.echo();";
    const turns = await turnsOf(code, () => {}, { work: () => busy(0.1), engine: "quickjs" });
    const between = turns.slice(1).map((turn, at) => turn - (turns[at] ?? turn));
    expect(between.toSorted((one, other) => one - other)[10]).toBeGreaterThanOrEqual(5);
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
