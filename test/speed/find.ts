/** Prints the microseconds to find an action among a thousand tools, the best of twenty rounds. */

import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { defineTool } from "../../packages/postern/src/tools/define.ts";
import { internalsOf, Registry } from "../../packages/postern/src/tools/registry.ts";

const registry = new Registry({ clock: new FakeClock(1_000) });
const tools = internalsOf(registry);
for (let n = 0; n < 1_000; n += 1) {
  const name = `tool_${n}_${"abcdefghjk"[n % 10]}`;
  registry.register(defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => name }));
}
const rounds = 10_000;
const times = Array.from({ length: 20 }, () => {
  const began = performance.now();
  for (let n = 0; n < rounds; n += 1) tools.find("tool_7_h", "default");
  return ((performance.now() - began) * 1_000) / rounds;
});
console.log(Math.min(...times));
