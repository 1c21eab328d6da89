import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compileCache } from "../setup/compile-cache.ts";

/** What measures has the machine to itself: one file at a time, after the others. */
const measuring = ["figures", "large", "long-log", "many"].map((name) => `test/browser/${name}.browser.ts`);
/** A figure is what the machine can do: held when it is reached once in three. What acts is tried twice where nobody is there to look, and told as retried. */
const tries = { measuring: 2, acting: process.env["CI"] === "true" ? 1 : 0 };
/** Begun first, so that none of them is left to run alone at the end. */
const long = /(?:tour|changing|approvals|twice|widths|hostile-page)\.browser\.ts$/;
const root = fileURLToPath(new URL("../..", import.meta.url));
/** Files share what they run in, and with it one Chromium (stage.ts); what they test is each one's own Postern. */
const each = {
  ...{ root, env: compileCache, isolate: false },
  // No promise is kept by these: they end what hangs, on the slowest machine too.
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
