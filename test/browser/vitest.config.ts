import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

/** `npm run test:browser`: a real Postern, a real Chromium, the built console. One file at a time: they measure. */
const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/browser/**/*.browser.ts"],
    globalSetup: [fileURLToPath(new URL("./build.ts", import.meta.url))],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});

export default config;
