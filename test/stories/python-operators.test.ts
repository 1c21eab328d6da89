/** Python scripts compute what the local Python computes; `npm run proof -- matrix` tries all operators and programs. */
import { afterAll, expect, it } from "vitest";
import { CpythonDriver } from "../../packages/engines/src/cpython/cpython.ts";
import { compared } from "../matrix/compare.ts";
import { operatorPrograms } from "../matrix/operators.ts";

const driver = new CpythonDriver({ warm: 1 });
const missing = await driver.unavailable();
if (missing !== undefined) console.warn(`SKIPPED: operators in Python: ${missing}`);
afterAll(() => driver[Symbol.asyncDispose]());

/** Lists compare item by item, and a remainder has the divisor's sign. */
const wanted = new Set(["operator-<", "operator-remainder", "operator-floor", "operator-==", "unary-3", "unary-5"]);

it.skipIf(missing !== undefined)("operators over all pairs of values give what plain CPython gives", async () => {
  const rows = await compared(
    driver,
    operatorPrograms.filter(({ name }) => wanted.has(name)),
  );
  expect(rows.map(({ program }) => program).sort()).toEqual([...wanted].sort());
  for (const { result, expected } of rows) expect(result).toBe(expected);
});

it.skipIf(missing !== undefined)("lists compare item by item, and remainders have the divisor's sign", async () => {
  await using session = await driver.start(
    {
      language: "python",
      source: "[[1, 2] < [1, 3], -7.5 % 2, -7 // 2, sorted(['É', 'a']), round(2.5)]",
      tools: [],
      chainId: "c",
    },
    { cpuMs: 5_000, memoryBytes: 64 * 1024 * 1024, outputBytes: 10_000, wallMs: 20_000 },
  );
  expect(await session.next()).toMatchObject({ value: [true, 0.5, -4, ["a", "É"], 2] });
});
