import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { compileCache } from "../setup/compile-cache.ts";

/** What measures has the machine to itself: one file at a time, after the others. */
const measuring = ["large", "live", "long-log", "many", "runs", "security"].map(
  (name) => `test/browser/${name}.browser.ts`,
);
const root = fileURLToPath(new URL("../..", import.meta.url));
const each = { root, env: compileCache, testTimeout: 120_000, hookTimeout: 60_000 };

/** `npm run test:browser`: a real Postern, a real Chromium, the built console. Two files at a time: most of a test is waiting. */
const config: ViteUserConfig = defineConfig({
  root,
  test: {
    globalSetup: [fileURLToPath(new URL("./build.ts", import.meta.url))],
    maxWorkers: 2,
    projects: [
      {
        test: { ...each, name: "acting", include: ["test/browser/**/*.browser.ts"], exclude: measuring },
      },
      {
        test: { ...each, name: "measuring", include: measuring, fileParallelism: false },
      },
    ],
  },
});

export default config;
