/** Runs one endless script on each engine, prints their process ids, and waits to be killed. */
import { SystemClock } from "../../packages/core/src/clock.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";

const clock = new SystemClock();
const limits = { cpuMs: 300_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 1_000, wallMs: 300_000 };
const endless = new Map([
  ["quickjs", { language: "javascript", source: "for (;;);" }],
  ["cpython", { language: "python", source: "while True:\n    pass" }],
] as const);

const found: [string, number][] = [];
for (const [name, { language, source }] of endless) {
  const driver = await knownEngines.get(name)?.(clock);
  if (driver === undefined || (await driver.unavailable()) !== undefined) continue;
  const session = await driver.start({ language, source, tools: [], chainId: "chain_1" }, limits);
  void session.next();
  if ("pid" in session && typeof session.pid === "number") found.push([name, session.pid]);
}
console.log(JSON.stringify(found));
