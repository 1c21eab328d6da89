import { expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { defineTool } from "../define.ts";
import type { LocalTool } from "../kinds.ts";
import { internalsOf, Registry } from "../registry.ts";
import type { ToolContext } from "../tool.ts";
import { Toolbox } from "../toolbox.ts";
import { combined, filtered, prefixed } from "./wrappers.ts";

const box = (...names: readonly string[]): Toolbox =>
  new Toolbox(
    names.map((name) => defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => name })),
  );
const names = (set: { tools(): readonly { readonly name: string }[] }): readonly string[] =>
  set.tools().map(({ name }) => name);

it("a filter runs each time, so hidden tools can come back", () => {
  let hidden = "b";
  const set = filtered(box("a", "b"), ({ name }) => name !== hidden);
  expect(names(set)).toEqual(["a"]);
  hidden = "a";
  expect(names(set)).toEqual(["b"]);
});

it("two servers that offer one tool name are both reachable under distinct names (case 251)", () => {
  const set = combined(prefixed(box("read"), "one"), prefixed(box("read"), "two"));
  expect(names(set)).toEqual(["one__read", "two__read"]);
  expect(() => combined(box("read"), box("read")).tools()).toThrow(/Two combined toolsets offer `read`/);
});

it("a prefixed tool keeps its members and the `this` of its body", async () => {
  class Counter {
    readonly name = "count";
    readonly description = "counts";
    readonly risk = "safe";
    readonly idempotent = true;
    #count = 0;
    execute(): string {
      this.#count += 1;
      return String(this.#count);
    }
  }
  const set = prefixed({ tools: () => [counter] }, "my");
  const counter = new Counter();
  const [tool] = set.tools();
  expect(set.tools()[0]).toBe(tool);
  const registry = new Registry({ clock: new FakeClock() });
  registry.register(tool as LocalTool);
  expect(
    internalsOf(registry)
      .find("my__count", "default")
      ?.execute({}, {} as ToolContext),
  ).toBe("1");
  expect(counter.name).toBe("count");
});
