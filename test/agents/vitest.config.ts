import { defineConfig } from "vitest/config";
import { fromSources, sourcesInProcesses } from "../setup/sources.ts";

/** The adapters in the real libraries, which are installed beside these tests. */
export default defineConfig({
  ...fromSources,
  test: {
    env: sourcesInProcesses,
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
