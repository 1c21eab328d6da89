import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compileCache } from "../setup/compile-cache.ts";
import { fromSources, sourcesInProcesses } from "../setup/sources.ts";

/** Files that measure run one at a time, after the others. */
const measuring = ["figures", "large", "long-log", "many"].map((name) => `test/browser/${name}.browser.ts`);
/** A figure counts when one of three tries reaches it. Other tests are tried twice in CI and reported as retried. */
const tries = { measuring: 2, acting: process.env["CI"] === "true" ? 1 : 0 };
/** The long files begin first, so that none runs alone at the end. */
const long = /(?:tour|changing|approvals|twice|widths|hostile-page)\.browser\.ts$/;
const root = fileURLToPath(new URL("../..", import.meta.url));
/** Files share a process and one Chromium (set-up.ts); each starts its own Postern. */
const each = {
  ...{ root, env: { ...compileCache, ...sourcesInProcesses }, isolate: false },
  // These limits only end a test that hangs, on the slowest machine too.
  ...{ testTimeout: 120_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } },
};

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** `npm run test:browser`: a real Postern, a real Chromium, the built console. Two files at a time: half of a test is waiting. */
const config: ViteUserConfig = defineConfig({
  ...fromSources,
  root,
  test: {
    globalSetup: ["../setup/temporary.ts", "./build.ts"].map((path) => fileURLToPath(new URL(path, import.meta.url))),
    maxWorkers: 2,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          ...each,
          name: "acting",
          retry: tries.acting,
          include: ["test/browser/**/*.browser.ts"],
          exclude: measuring,
        },
      },
      {
        test: {
          ...each,
          name: "measuring",
          retry: tries.measuring,
          include: measuring,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});

export default config;
