import type { ToolSketch } from "@postern/core/sandbox";
import { afterAll, expect, it } from "vitest";
import { quickJsDriver } from "./driver.ts";

const driver = await quickJsDriver({ warm: 1 });

afterAll(() => driver[Symbol.asyncDispose]());

const names = ["console", "Math", "JSON", "Promise", "print", "help", "tools", "Object", "undefined", "globalThis"];
const tools: readonly ToolSketch[] = names.map((name) => ({
  ...{ name, server: undefined, short: name, description: "", inputSchema: {} },
}));

it("offers tools with names of JavaScript behind `tools.` only", async () => {
  const source = `console.log("secret");
    const found = [JSON.stringify([1]), Math.max(1, 2), await Promise.resolve(3), typeof print, typeof undefined];
    found.push((await tools.console({ n: 4 })).text);
    found`;
  await using session = await driver.start(
    { language: "javascript", source, tools, chainId: "chain_1" },
    { cpuMs: 3_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 20_000, wallMs: 20_000 },
  );
  const step = await session.next();
  expect(step).toMatchObject({ calls: [{ tool: "console", arguments: { n: 4 } }], printed: [{ text: "secret\n" }] });
  await session.settle([{ place: 0, status: "ok", value: { text: "called" } }]);
  expect(await session.next()).toMatchObject({ value: ["[1]", 2, 3, "function", "undefined", "called"] });
});
