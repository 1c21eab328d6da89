/**
 * `node scripts/api-report.ts [--local]`: compares each entry of the package with its report in `etc/`. With `--local` it
 * writes the reports.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import manifest from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const localBuild = process.argv.includes("--local");
const configObjectFullPath = join(root, "api-extractor.json");
mkdirSync(join(root, "etc"), { recursive: true });

/** `postern`, `policy`, `agents-openai`. */
function reportName(subpath: string): string {
  return subpath === "." ? "postern" : subpath.slice(2).replaceAll("/", "-");
}

/** @returns false if the report differs */
function isReported(subpath: string, built: string): boolean {
  const configObject = ExtractorConfig.loadFile(configObjectFullPath);
  const mainEntryPointFilePath = join(root, built.replace(/\.js$/, ".d.ts"));
  const config = ExtractorConfig.prepare({
    configObject: {
      ...configObject,
      mainEntryPointFilePath,
      apiReport: { enabled: true, ...configObject.apiReport, reportFileName: `${reportName(subpath)}.api.md` },
    },
    configObjectFullPath,
    packageJsonFullPath: join(root, "package.json"),
  });
  return Extractor.invoke(config, { localBuild }).succeeded;
}

const entries = Object.entries(manifest.exports).filter(([, built]) => built.endsWith(".js"));
const differing = entries.filter(([subpath, built]) => !isReported(subpath, built)).map(([subpath]) => subpath);
if (differing.length > 0) {
  process.stderr.write(
    `The public API of ${differing.map((subpath) => `\`${subpath}\``).join(", ")} differs from its report in \`etc/\`. If you meant that, run \`npm run api:update\`.\n`,
  );
  process.exitCode = 1;
}
