/** `npm run race:files [-- --seconds N] [--json] [--only read,write]`: exits with 1 when anything escaped or leaked. */
import { parseArgs } from "node:util";
import { guards, operations, type RaceResult, race, swaps } from "./race.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string" }, json: { type: "boolean" }, only: { type: "string" } },
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
      const result = await race({ operation, swap, guard, seconds });
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
process.exitCode = results.every(({ escapes, leakedDescriptors }) => escapes === 0 && leakedDescriptors === 0) ? 0 : 1;
