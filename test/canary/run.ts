/**
 * `npm run proof -- canary [--canaries N] [--json] [--idle]`: secrets lent to leaky tools, and every sink read for them. Exits with 1
 * if one is found, or if no canary was used. With `--idle`, no call is made, so the run fails.
 */
import { parseArgs } from "node:util";
import { faultsOf, runCanary } from "./canary.ts";

const { values } = parseArgs({
  options: { canaries: { type: "string", default: "40" }, json: { type: "boolean" }, idle: { type: "boolean" } },
});
const count = Number(values.canaries);
const report = await runCanary(count, { idle: values.idle === true });
const control = await runCanary(4, { blind: true, idle: values.idle === true });
const faults = faultsOf(report, control);

if (values.json === true) {
  const { examples: _, ...figures } = report;
  process.stdout.write(`${JSON.stringify({ ...figures, faults }, undefined, 2)}\n`);
} else {
  process.stdout.write(
    `${report.canaries} canaries × ${report.encodings.length} encodings, ${report.calls} calls, ${report.seconds} s\n`,
  );
  for (const { sink, bytes, hits } of report.sinks)
    process.stdout.write(`  ${String(hits).padStart(4)} hits  ${String(bytes).padStart(10)} bytes  ${sink}\n`);
  for (const [sink, found] of Object.entries(report.examples))
    process.stdout.write(`${sink}:\n${found.map((text) => `  ${JSON.stringify(text)}\n`).join("")}`);
  process.stdout.write(`${report.masks} masks\n`);
}
for (const fault of faults) process.stderr.write(`PROBLEM ${fault}\n`);
process.exitCode = report.hits === 0 && faults.length === 0 ? 0 : 1;
