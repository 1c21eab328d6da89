/** `npm run canary [-- --canaries N] [--json]`: secrets lent to leaky tools, and every sink read for them. */
import { parseArgs } from "node:util";
import { runCanary } from "./canary.ts";

const { values } = parseArgs({ options: { canaries: { type: "string", default: "40" }, json: { type: "boolean" } } });
const count = Number(values.canaries);
const report = await runCanary(count);
const control = await runCanary(4, { blind: true });
const deaf = control.sinks.filter(({ hits }) => hits === 0).map(({ sink }) => sink);

if (values.json === true) {
  const { examples: _, ...figures } = report;
  process.stdout.write(`${JSON.stringify({ ...figures, control: { canaries: 4, deaf } }, undefined, 2)}\n`);
} else {
  process.stdout.write(
    `${report.canaries} canaries × ${report.encodings.length} encodings, ${report.calls} calls, ${report.seconds} s\n`,
  );
  for (const { sink, bytes, hits } of report.sinks)
    process.stdout.write(`  ${String(hits).padStart(4)} hits  ${String(bytes).padStart(10)} bytes  ${sink}\n`);
  for (const [sink, found] of Object.entries(report.examples))
    process.stdout.write(`${sink}:\n${found.map((text) => `  ${JSON.stringify(text)}\n`).join("")}`);
  process.stdout.write(`Without masking these sinks stay silent: ${deaf.join(", ") || "none"}\n`);
}
process.exitCode = report.hits === 0 ? 0 : 1;
