/**
 * `node scripts/api-report.ts [--local]`: compares each entry of each package with its report in `etc/`. With `--local` it
 * writes the reports.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { packages, root } from "./packages.ts";

const localBuild = process.argv.includes("--local");
const configObjectFullPath = join(root, "api-extractor.json");
mkdirSync(join(root, "etc"), { recursive: true });

interface Entry {
  /** `postern`, `policy`. */
  readonly subpath: string;
  readonly folder: string;
  /** Its built file. */
  readonly built: string;
}

function entriesOf(folder: string): readonly Entry[] {
  const manifest = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  }; // our own
  return Object.entries(manifest.exports).flatMap(([subpath, to]) =>
    typeof to === "string" ? [] : [{ subpath, folder, built: to.default }],
  );
}

/** `postern`, `postern-policy`, `agents-openai`. */
function reportName({ folder, subpath }: Entry): string {
  return `${folder}${subpath.slice(1).replaceAll("/", "-")}`;
}

/** @returns false if the report differs */
function isReported(entry: Entry): boolean {
  const folder = join(root, "packages", entry.folder);
  const configObject = ExtractorConfig.loadFile(configObjectFullPath);
  const config = ExtractorConfig.prepare({
    configObject: {
      ...configObject,
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, entry.built.replace(/\.js$/, ".d.ts")),
      compiler: { tsconfigFilePath: join(folder, "tsconfig.build.json") },
      apiReport: {
        ...{ enabled: true, ...configObject.apiReport },
        reportFolder: join(root, "etc"),
        reportFileName: `${reportName(entry)}.api.md`,
      },
    },
    configObjectFullPath,
    packageJsonFullPath: join(folder, "package.json"),
  });
  return Extractor.invoke(config, { localBuild }).succeeded;
}

const differing = packages
  .flatMap(entriesOf)
  .filter((entry) => !isReported(entry))
  .map(reportName);
if (differing.length > 0) {
  process.stderr.write(
    `The public API of ${differing.map((name) => `\`${name}\``).join(", ")} differs from its report in \`etc/\`. If you meant that, run \`npm run api\`.\n`,
  );
  process.exitCode = 1;
}
