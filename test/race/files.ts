/**
 * `npm run proof -- race [--seconds N] [--json] [--only read,write] [--idle]`: exits with 1 when anything escaped or leaked,
 * or if the attacker did nothing. With `--idle`, the attacker swaps nothing, so the run fails.
 */
import { parseArgs } from "node:util";
import { faultsOf, guards, operations, type RaceResult, race, swaps } from "./race.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string" },
    json: { type: "boolean" },
    only: { type: "string" },
    idle: { type: "boolean" },
  },
});
const seconds = Number(values.seconds ?? 5);
const wanted = values.only?.split(",");
const results: RaceResult[] = [];

if (values.json !== true)
  console.log(
    "| operation | swap | guard | swaps a second | tries | served | escapes | leaked descriptors |\n|---|---|---|---:|---:|---:|---:|---:|",
  );
for (const operation of operations) {
  if (wanted !== undefined && !wanted.includes(operation)) continue;
  for (const swap of swaps) {
    for (const guard of guards) {
      const result = await race({ operation, swap, guard, seconds, idle: values.idle });
      results.push(result);
      if (values.json === true) continue;
      const { swapsPerSecond, tries, served, escapes, leakedDescriptors } = result;
      console.log(
        `| ${[operation, swap, guard, swapsPerSecond, tries, served, escapes, leakedDescriptors].join(" | ")} |`,
      );
    }
  }
}
if (values.json === true) console.log(JSON.stringify(results, null, 2));
const faults = results.flatMap(faultsOf);
if (results.length === 0) faults.push(`\`--only ${values.only}\` names no operation.`);
for (const fault of faults) console.error(`PROBLEM ${fault}`);
const isSafe = results.every(({ escapes, leakedDescriptors }) => escapes === 0 && leakedDescriptors === 0);
process.exitCode = isSafe && faults.length === 0 ? 0 : 1;
