/**
 * `npm run conformance [-- --json] [-- --write]`: the conformance suite of MCP, both revisions, both sides of Postern.
 * `--json` prints the result as JSON. `--write` writes docs/reference/conformance.md; without it the page must be current.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./packages.ts";

const { values } = parseArgs({ options: { json: { type: "boolean" }, write: { type: "boolean" } } });
const folder = join(root, "test/conformance");
const page = join(root, "docs/reference/conformance.md");
const name = "@modelcontextprotocol/conformance";

const wanted: string = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies[name];
const installed = join(folder, "node_modules", name, "package.json");
if (!existsSync(installed) || JSON.parse(readFileSync(installed, "utf8")).version !== wanted)
  execFileSync("npm", ["ci", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"], {
    stdio: ["ignore", 2, 2],
    env: { ...process.env, NODE_OPTIONS: undefined },
  });

const { clientLeg, serverLeg } = await import("../test/conformance/legs.ts");
const { asJson, asPage, asText, problemsOf, warningsOf } = await import("../test/conformance/report.ts");

const findings = {
  legs: [
    await serverLeg("2025-11-25"),
    await serverLeg("2026-07-28"),
    await clientLeg("2025-11-25"),
    await clientLeg("2026-07-28"),
  ],
  mixed: [
    { ...(await serverLeg("2025-11-25", "2026-07-28")), upstream: "2026-07-28" },
    { ...(await serverLeg("2026-07-28", "2025-11-25")), upstream: "2025-11-25" },
  ],
} as const;

const made = asPage(findings, wanted);
if (values.write === true) writeFileSync(page, made);
if (values.json === true) console.log(asJson(findings));
else console.log(asText(findings));

for (const warning of warningsOf(findings)) console.error(`recommended: ${warning}`);
const problems = problemsOf(findings);
const isCurrent = existsSync(page) && readFileSync(page, "utf8") === made;
for (const problem of problems) console.error(problem);
if (!isCurrent) console.error("docs/reference/conformance.md says something else: npm run conformance -- --write");
process.exitCode = problems.length === 0 && isCurrent ? 0 : 1;
